"""Tests of a baseline that did not show up, and the new ones they are taken for."""

from __future__ import annotations

from harness.pytest_plugin.census import Absence, absences, nothing_found


def test_what_was_collected_is_not_absent():
    assert absences(["a.py::test_x"], {"a.py::test_x"}, []) == ()


def test_nothing_alike_is_plainly_missing():
    assert absences(["a.py::test_softmax"], set(), ["a.py::test_matmul"]) == (
        Absence("a.py::test_softmax", None),
    )


def test_the_same_test_in_another_file_is_taken_for_it():
    new = ["b.py::test_y", "b.py::test_x[4]"]
    assert absences(["a.py::test_x[4]"], set(), new) == (Absence("a.py::test_x[4]", new[1]),)


def test_other_parameters_of_the_same_function_are_taken_for_it():
    assert absences(["a.py::test_x[4]"], set(), ["a.py::test_x[8]"])[0].now == "a.py::test_x[8]"


def test_a_name_much_alike_in_the_same_file_only():
    assert absences(["a.py::test_softmax"], set(), ["a.py::test_softmax_f32"])[0].now
    assert absences(["a.py::test_softmax"], set(), ["b.py::test_softmax_f32"])[0].now is None


def test_a_new_test_is_taken_once():
    found = absences(["a.py::test_x[1]", "a.py::test_x[2]"], set(), ["a.py::test_x[3]"])
    assert [absence.now for absence in found] == ["a.py::test_x[3]", None]


def test_a_session_that_selected_no_test_speaks_of_tests_and_of_the_status_of_pytest():
    found = nothing_found(3, selected=0, status=5)
    assert found.summary == (
        "no test was traced or timed: 3 tests collected, none selected; pytest ended with exit status 5"
    )
    assert "-k" in found.next_step
    assert nothing_found(3, selected=3, status=0).summary.startswith("no test was traced or timed;")
