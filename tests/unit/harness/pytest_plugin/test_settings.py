import pytest

from harness.devices.registry import DEVICE_NAMES
from harness.pytest_plugin.settings import device_name_is_known, refuse_foreign


def test_every_device_of_the_registry_can_be_chosen():
    for name in DEVICE_NAMES:
        assert device_name_is_known(name.replace("N", "0"))


def test_other_names_cannot():
    for name in ("", "gpu", "cuda", "cuda:", "cuda:x", "CPU", "simulated "):
        assert not device_name_is_known(name)


@pytest.mark.parametrize("form", ["PAGE", "BENCHMARKS"])
def test_a_foreign_file_is_refused_with_the_option_that_named_it(form, tmp_path):
    path = tmp_path / "out"
    refuse_foreign(path, "--option", form=form)
    path.write_text("mine")
    with pytest.raises(pytest.UsageError, match=r"--option: .+ exists and is no .+; remove it"):
        refuse_foreign(path, "--option", form=form)
