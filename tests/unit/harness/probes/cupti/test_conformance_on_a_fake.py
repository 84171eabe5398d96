"""The suite every probe must pass, run on a scripted CUPTI: the whole protocol but for the device."""

from __future__ import annotations

import pytest

from harness.probes.conformance import PlantedActions, ProbeConformance

NAMES = [name for name in vars(ProbeConformance) if name[0] != "_" and name != "checks"]


@pytest.fixture
def checks(fake, probe):
    def copy_to_host():
        fake.copy_to_host()

    actions = PlantedActions(
        copy_to_host=copy_to_host,
        copied_bytes=12,
        wait=fake.wait,
        pageable_copy=fake.pageable_copy,
        copy_to_device=fake.copy_to_device,
        uploaded_bytes=16,
        work=fake.launch,
        host_callback=fake.host_callback,
    )
    return {check.name: check.run for check in ProbeConformance(probe, actions).checks()}


def test_every_check_of_the_suite_applies(checks):
    assert set(checks) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_probe_conforms(checks, name):
    checks[name]()


@pytest.mark.parametrize("name", NAMES)
def test_it_conforms_within_one_shared_session(fake, probe, checks, name):
    with probe.session():
        checks[name]()


@pytest.mark.parametrize("name", NAMES)
def test_it_conforms_when_buffers_come_late(fake, checks, name):
    fake.late = 3
    checks[name]()


@pytest.mark.parametrize("name", NAMES)
def test_it_conforms_where_threads_go_by_pthread_self(cupti, fake, checks, name):
    fake.refuse["set_thread_id_type"] = cupti.cuptiError(27)
    checks[name]()
