from harness.devices.registry import DEVICE_NAMES
from harness.pytest_plugin.settings import device_name_is_known


def test_every_device_of_the_registry_can_be_chosen():
    for name in DEVICE_NAMES:
        assert device_name_is_known(name.replace("N", "0"))


def test_other_names_cannot():
    for name in ("", "gpu", "cuda", "cuda:", "cuda:x", "CPU", "simulated "):
        assert not device_name_is_known(name)
