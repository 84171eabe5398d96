import numpy as np
import pytest

from reference_impl.kernels.complaint import complain, raise_if_complained
from reference_impl.kernels.planner import plan_rows
from reference_impl.kernels.source import MACHINE, device_source, source_parts
from reference_impl.kernels.task import COMPLAINT, TASK, WORKSPACE, Flag

STRUCTS = {"Task": TASK, "Workspace": WORKSPACE, "Complaint": COMPLAINT}


@pytest.fixture(scope="module")
def facts(build_kernels, host_parts):
    asked = {f"sizeof {name}": f"sizeof({name})" for name in STRUCTS}
    for name, dtype in STRUCTS.items():
        asked |= {f"{name} {f}": f"__builtin_offsetof({name}, {f})" for f in dtype.fields}
    asked |= {flag.name: flag.name for flag in Flag}
    asked |= {
        f"scratch {t}": f"sizeof(Scratch<Accumulator<{t}>>)" for t in ("float", "double", "Half")
    }
    return build_kernels(host_parts, ["count_labels"], facts=asked).facts()


@pytest.mark.parametrize("name", STRUCTS)
def test_host_and_kernel_agree_on_every_field(facts, name):
    dtype = STRUCTS[name]
    assert dtype.itemsize == facts[f"sizeof {name}"]
    for field, (_, offset) in dtype.fields.items():
        assert offset == facts[f"{name} {field}"], field


def test_host_and_kernel_agree_on_every_flag(facts):
    for flag in Flag:
        assert flag.value == facts[flag.name]


@pytest.mark.parametrize(
    ("dtype", "cpp"), [("float32", "float"), ("float64", "double"), ("float16", "Half")]
)
def test_the_planner_asks_for_the_scratch_that_a_kernel_takes(facts, devices, dtype, cpp):
    plan = plan_rows(dtype=dtype, rows=1, classes=10, limits=devices["sm_90"])
    assert plan.shared_bytes == facts[f"scratch {cpp}"]


def test_the_source_includes_nothing():
    assert "#include" not in device_source()


def test_only_the_machine_holds_what_the_host_cannot_compile():
    for name, text in source_parts().items():
        if name != MACHINE:
            assert "asm" not in text, name
            assert "__CUDA_ARCH__" not in text, name


def test_a_complaint_is_raised_once_with_row_and_label():
    complaint = np.zeros(1, COMPLAINT)
    raise_if_complained(complaint, classes=10)
    complain(complaint, row=7, label=-3)
    complain(complaint, row=8, label=99)
    with pytest.raises(ValueError, match=r"label -3 in row 7 is outside \[0, 10\)"):
        raise_if_complained(complaint, classes=10)
    raise_if_complained(complaint, classes=10)
