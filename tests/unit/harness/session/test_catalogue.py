import sys
import types

import pytest
from toy_workload import Toy, ToyCase

from harness.errors import UsageError
from harness.session.catalogue import BUILT_IN, UNASKED, load_workload, select


class Two(Toy):
    def cases(self):
        return (ToyCase(name="a-float32"), ToyCase(name="b-float32"))


@pytest.fixture
def module(monkeypatch):
    """A module of workloads that can be imported by name."""
    made = types.ModuleType("some_workloads")
    made.TWO = Two()
    monkeypatch.setitem(sys.modules, "some_workloads", made)
    return made


def test_no_name_means_the_quick_ones_whole():
    selections = select(())
    assert [selection.name for selection in selections] == list(UNASKED)
    assert all(selection.whole and selection.cases for selection in selections)


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_built_in_workload_is_found_by_its_name_and_lists_its_cases(name):
    (selection,) = select([name])
    assert selection.name == name
    assert selection.cases
    assert not selection.fault


def test_what_runs_unasked_is_built_in():
    assert set(UNASKED) < set(BUILT_IN)


def test_a_pattern_selects_cases():
    (selection,) = select(["softmax_cross_entropy/4096x1000-*"])
    assert [case.name for case in selection.cases] == [
        "4096x1000-float16",
        "4096x1000-float32",
        "4096x1000-float64",
    ]
    assert not selection.whole


def test_a_workload_named_twice_is_run_once_with_the_cases_of_both(module):
    (selection,) = select(["some_workloads:TWO/a-*", "some_workloads:TWO/*"])
    assert [case.name for case in selection.cases] == ["a-float32", "b-float32"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("mlq", "did you mean 'mlp'"),
        ("/etc/passwd", "'/etc/passwd' names no workload, which are called NAME, NAME/CASE or"),
        ("", "'' names no workload"),
        ("./perf.py", "a file is named by its module, such as package.module:WORKLOAD"),
        ("tests/perf.py", "a file is named by its module"),
        ("zzz", "built in: softmax_cross_entropy, mlp, mnist_cnn, resnet50"),
        ("mlp/float1*", "matches no case of 'mlp'; it has float32, float64"),
        ("some_workloads:ONE", "has no attribute 'ONE'; it has TWO"),
        ("no_such_package.x:W", "no module named 'no_such_package'"),
        ("some-workloads:W", "not of the form package.module:ATTRIBUTE"),
        ("some_workloads:__name__", "is str, not an object with name"),
    ],
)
def test_a_wrong_name_is_refused_with_what_would_be_right(module, name, says):
    with pytest.raises(UsageError, match=r".") as refusal:
        select([name])
    assert says in str(refusal.value)


def fault_of(module, workload):
    module.BAD = workload
    (selection,) = select(["some_workloads:BAD"])
    assert selection.workload is None
    return selection.fault


def test_a_workload_without_cases_is_a_fault_of_its_own(module):
    class Empty(Toy):
        def cases(self):
            return ()

    assert "has no cases" in fault_of(module, Empty())


def test_two_cases_of_one_name_are_a_fault(module):
    class Twice(Toy):
        def cases(self):
            return (ToyCase(), ToyCase())

    assert "two cases named 'toy'" in fault_of(module, Twice())


@pytest.mark.parametrize("name", ["../up", "", "a b", 3, "n" * 129])
def test_a_name_that_cannot_be_a_file_is_a_fault(module, name):
    assert "use letters, digits" in fault_of(module, Toy(name=name))
    assert "use letters, digits" in fault_of(module, Toy(case=ToyCase(name=name)))


def test_a_name_too_long_for_a_file_is_shown_by_its_beginning(module):
    fault = fault_of(module, Toy(name="n" * 10_000))
    assert "nnn… (10,000 characters)" in fault
    assert len(fault) < 300


def test_cases_that_raise_are_a_fault(module):
    class Raises(Toy):
        def cases(self):
            raise OSError("no data")

    assert "raised OSError: no data" in fault_of(module, Raises())


def test_a_module_that_raises_on_import_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "raises_on_import.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(tmp_path)
    (selection,) = select(["raises_on_import:W"])
    assert "raised ZeroDivisionError" in selection.fault


def test_a_built_in_workload_is_found_by_its_name():
    assert load_workload("mlp").name == "mlp"


def test_a_module_that_leaves_the_process_on_import_is_a_fault(tmp_path, monkeypatch):
    (tmp_path / "leaves_on_import.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    (selection,) = select(["leaves_on_import:W"])
    assert "raised SystemExit" in selection.fault


def test_two_workloads_of_one_name_are_refused_since_one_would_hide_the_other(module):
    module.ONE, module.OTHER = Toy(), Toy()
    with pytest.raises(
        UsageError, match=r":ONE' and '.*:OTHER' are both named 'toys'.*one at a time"
    ):
        select([f"{module.__name__}:ONE", f"{module.__name__}:OTHER"])
    assert len(select([f"{module.__name__}:ONE", f"{module.__name__}:ONE"])) == 1
