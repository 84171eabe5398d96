"""Budgets: read from plain data, refused by name, counted by event."""

from collections.abc import Mapping

import pytest
from builders import a_kernel, a_sync, a_transfer

from harness.errors import WorkloadError
from harness.model.budget import Budget, Limit, Quantity
from harness.model.event import Direction, Event, EventType

UPLOAD = a_transfer(direction=Direction.HOST_TO_DEVICE, size_bytes=100, blocking=False)


@pytest.mark.parametrize(
    ("event", "counted"),
    [
        (
            a_transfer(size_bytes=4),
            {Quantity.D2H: 1, Quantity.D2H_BYTES: 4, Quantity.BLOCKING_COPIES: 1},
        ),
        (UPLOAD, {Quantity.H2D: 1, Quantity.H2D_BYTES: 100}),
        (a_transfer(direction=Direction.DEVICE_TO_DEVICE, blocking=False), {}),
        (a_sync(), {Quantity.SYNCS: 1}),
        (a_kernel(), {}),
    ],
)
def test_an_event_counts_towards_its_own_quantities_only(
    event: Event, counted: Mapping[Quantity, int]
) -> None:
    assert {
        quantity: quantity.counts(event) for quantity in Quantity if quantity.counts(event)
    } == counted


def test_waits_need_a_probe_that_sees_syncs_and_copies_one_that_sees_transfers() -> None:
    needs = {quantity: quantity.requires for quantity in Quantity}
    assert needs.pop(Quantity.SYNCS) is EventType.SYNC
    assert set(needs.values()) == {EventType.TRANSFER}


def test_plain_limits_become_limits_with_their_reason() -> None:
    budget = Budget.from_plain(
        {"forward": {"d2h": 0, "h2d": None, "syncs": 2, "because": "the loss stays"}}
    )
    assert budget.regions == {
        "forward": (
            Limit(quantity=Quantity.D2H, at_most=0, because="the loss stays"),
            Limit(quantity=Quantity.SYNCS, at_most=2, because="the loss stays"),
        )
    }
    assert Budget.from_plain({}).regions == {}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"d2h": 0}, "gives no reason"),
        ({"d2h": 0, "because": "  "}, "gives no reason"),
        ({"d2h": 0, "because": 3}, "gives no reason"),
        ({"dh2": 0, "because": "x"}, "limits 'dh2', which is not counted; use one of d2h, h2d"),
        ({"d2h": -1, "because": "x"}, "limits d2h to -1"),
        ({"d2h": True, "because": "x"}, "limits d2h to True"),
        ({"d2h": 0.5, "because": "x"}, "limits d2h to 0.5"),
    ],
)
def test_a_malformed_budget_is_one_line_naming_region_and_key(
    entry: Mapping[str, object], said: str
) -> None:
    with pytest.raises(WorkloadError) as raised:
        Budget.from_plain({"forward": entry})
    assert said in str(raised.value)
    assert "region 'forward'" in str(raised.value)


@pytest.mark.parametrize("entry", [0, None, "d2h", [("d2h", 0)]])
def test_a_region_whose_budget_is_no_mapping_is_named(entry: object) -> None:
    with pytest.raises(WorkloadError, match="budget of region 'forward' is"):
        Budget.from_plain({"forward": entry})


@pytest.mark.parametrize(
    ("quantity", "text"),
    [
        (Quantity.D2H, "2 D2H"),
        (Quantity.H2D_BYTES, "2 B H2D"),
        (Quantity.SYNCS, "2 syncs"),
        (Quantity.BLOCKING_COPIES, "2 blocking copies"),
    ],
)
def test_an_amount_reads_as_people_say_it(quantity: Quantity, text: str) -> None:
    assert quantity.amount_text(2) == text
