from builders import a_sync, a_trace, a_transfer

from harness.checks.control import Planted, check_known_defect, check_positive_control
from harness.model.budget import Quantity
from harness.model.outcome import Outcome

READ = {Quantity.D2H: 1, Quantity.D2H_BYTES: 4, Quantity.SYNCS: 1}


def a_plant(*events, expected=READ):
    return Planted(name="a D2H copy", expected=expected, trace=a_trace(*events))


def test_a_plant_seen_exactly_passes():
    result = check_positive_control((a_plant(a_transfer(), a_sync()),))
    assert result.outcome is Outcome.PASSED
    assert result.evidence == "controls seen 1/1"


def test_a_plant_not_seen_is_inconclusive_and_names_what_was_missed():
    result = check_positive_control((a_plant(), a_plant(a_transfer(), a_sync())))
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "a D2H copy: d2h 0, expected 1" in result.summary
    assert result.evidence == "controls seen 1/2"


def test_a_plant_seen_twice_is_inconclusive():
    result = check_positive_control((a_plant(a_transfer(), a_transfer(), a_sync()),))
    assert result.outcome is Outcome.INCONCLUSIVE


def test_a_probe_that_invents_a_sync_is_not_to_be_trusted():
    plant = a_plant(a_transfer(), a_sync(), expected={Quantity.D2H: 1, Quantity.SYNCS: 0})
    assert check_positive_control((plant,)).outcome is Outcome.INCONCLUSIVE


def test_every_missed_plant_is_told():
    result = check_positive_control((a_plant(), a_plant()))
    assert len(result.details) == 1


def test_nothing_planted_is_inconclusive():
    assert check_positive_control(()).outcome is Outcome.INCONCLUSIVE


def test_a_known_defect_that_shows_exactly_passes():
    result = check_known_defect("pre-fix", {"forward": READ}, a_trace(a_transfer(), a_sync()))
    assert result.outcome is Outcome.PASSED
    assert "pre-fix FAILED as expected: 1 D2H, 4 B D2H, 1 sync within 'forward'" in (result.summary)


def test_a_known_defect_that_does_not_show_is_inconclusive():
    result = check_known_defect("pre-fix", {"forward": READ}, a_trace())
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "was expected to show its defect and did not" in result.summary


def test_a_known_defect_in_another_region_does_not_count():
    trace = a_trace(a_transfer(regions=("backward",)), a_sync(regions=("backward",)))
    assert check_known_defect("pre-fix", {"forward": READ}, trace).outcome is Outcome.INCONCLUSIVE


def test_a_known_defect_may_be_expected_of_the_whole_run():
    trace = a_trace(a_transfer(), a_transfer(regions=()))
    expected = {"forward": {Quantity.D2H: 1}, "run": {Quantity.D2H: 2}}
    assert check_known_defect("pre-fix", expected, trace).outcome is Outcome.PASSED


def test_a_control_that_expects_nothing_proves_nothing():
    for expected in ({}, {"forward": {Quantity.D2H: 0}}):
        result = check_known_defect("pre-fix", expected, a_trace())
        assert result.outcome is Outcome.INCONCLUSIVE
