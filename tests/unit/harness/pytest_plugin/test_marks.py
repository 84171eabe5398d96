from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.model.budget import Limit, Quantity
from harness.pytest_plugin.marks import marked_budget, misuse

WHY = "the loss stays on the device"


@dataclass
class AMark:
    kwargs: dict[str, Any]
    args: tuple[Any, ...] = ()
    name: str = "limit_transfers"


@dataclass
class MarkedItem:
    marks: list[AMark] = field(default_factory=list)
    nodeid: str = "tests/test_loss.py::test_forward[float32]"

    def iter_markers(self, name):
        return iter([mark for mark in self.marks if mark.name == name])


def marked(*arguments):
    return MarkedItem([AMark(one) for one in arguments])


def test_no_mark_is_no_budget():
    assert marked_budget(MarkedItem()) is None


def test_a_mark_limits_what_it_names_and_nothing_else():
    budget = marked_budget(marked({"d2h": 0, "h2d": None, "syncs": 2, "because": WHY}))
    assert budget.regions == {
        "run": (
            Limit(quantity=Quantity.D2H, at_most=0, because=WHY),
            Limit(quantity=Quantity.SYNCS, at_most=2, because=WHY),
        )
    }


@pytest.mark.parametrize("quantity", list(Quantity))
def test_every_quantity_can_be_limited(quantity):
    budget = marked_budget(marked({quantity.value: 3, "within": "forward", "because": WHY}))
    assert budget.regions["forward"] == (Limit(quantity=quantity, at_most=3, because=WHY),)


def test_several_marks_all_apply():
    budget = marked_budget(
        marked(
            {"d2h": 0, "within": "forward", "because": WHY},
            {"d2h": 1, "because": "the loss is printed once"},
            {"syncs": 0, "within": "forward", "because": WHY},
        )
    )
    assert [limit.quantity for limit in budget.regions["forward"]] == [Quantity.D2H, Quantity.SYNCS]
    assert [limit.at_most for limit in budget.regions["run"]] == [1]


def test_the_same_mark_twice_is_one_limit():
    budget = marked_budget(marked({"d2h": 0, "because": WHY}, {"d2h": 0, "because": WHY}))
    assert len(budget.regions["run"]) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"d2h": 0}, "because"),
        ({"d2h": 0, "because": ""}, "because"),
        ({"d2h": 0, "because": 502}, "because"),
        ({"d2d": 0, "because": WHY}, "d2d=0 is not an argument of it; use d2h, h2d"),
        ({"sync": 0, "because": WHY}, "sync=0 is not an argument of it; did you mean syncs?"),
        ({"speed": 0, "because": WHY}, "speed=0"),
        ({"because": 3, "d2h": 0}, "because=3"),
        ({"d2h": -1, "because": WHY}, "d2h=-1"),
        ({"d2h": True, "because": WHY}, "d2h=True"),
        ({"syncs": 0.5, "because": WHY}, "syncs=0.5"),
        ({"d2h": 0, "within": "", "because": WHY}, "within=''"),
        ({"d2h": 0, "within": None, "because": WHY}, "within=None"),
        ({"d2h": None, "because": WHY}, "limits nothing"),
        ({"because": WHY}, "limits nothing"),
    ],
)
def test_misuse_names_the_test_the_marker_and_the_argument_in_one_line(arguments, named):
    item = marked(arguments)
    problem = misuse(item)
    assert problem is not None
    assert problem.startswith(f"{item.nodeid}: @pytest.mark.limit_transfers: ")
    assert named in problem
    assert "\n" not in problem
    with pytest.raises(UsageError):
        marked_budget(item)


@given(
    st.dictionaries(
        st.sampled_from(["d2h", "syncs", "h2d_bytes", "d2d", "within", "because", "witin"]),
        st.none() | st.integers(-2, 2) | st.booleans() | st.text(max_size=3) | st.just(WHY),
    )
)
def test_a_mark_is_told_in_its_own_words(arguments):
    """Who writes a mark has written no budget and named no region but in ``within``."""
    problem = misuse(marked(arguments))
    if problem is None:
        return
    said = problem.removeprefix(f"{MarkedItem.nodeid}: @pytest.mark.limit_transfers: ")
    assert said != problem
    assert any(name in said for name in (*arguments, "because", "limits nothing"))
    assert "budget" not in said
    assert "'run'" not in said


def test_an_unnamed_argument_is_misuse():
    item = MarkedItem([AMark({"because": WHY}, args=(0,))])
    assert "named arguments only" in misuse(item)


def test_a_mark_that_makes_sense_is_no_misuse():
    assert misuse(marked({"d2h": 0, "because": WHY})) is None
