"""Facts from readings: no machine is asked, every reading is given."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.environment.facts import (
    PROTOCOL_VERSION,
    SPEED_VARIABLES,
    Facts,
    git_state,
    hard_facts,
    soft_facts,
)
from harness.environment.machine import environment
from harness.environment.readings import FILES, Readings

_CPU = "/sys/devices/system/cpu"
_HUGEPAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
_COMMIT = "1f" * 20
_EPYC = "processor\t: 0\nmodel name\t: AMD  EPYC\ncpu family\t: 25\nmodel\t: 17\nflags\t: fpu hypervisor\n"


def _cpuinfo(text: str) -> Readings:
    return Readings(files={"/proc/cpuinfo": text})


def test_a_machine_that_says_nothing_has_only_the_facts_the_harness_knows_itself() -> None:
    assert hard_facts(Readings(), ["cpu"]) == {
        "devices": "cpu",
        "harness.protocol": str(PROTOCOL_VERSION),
    }
    assert soft_facts(Readings()) == {}


@pytest.mark.parametrize("name", SPEED_VARIABLES)
def test_a_variable_that_changes_speed_is_a_hard_fact_and_an_empty_one_is_absent(name: str) -> None:
    assert hard_facts(Readings(variables={name: "1"}), [])[f"variable.{name}"] == "1"
    assert f"variable.{name}" not in hard_facts(Readings(variables={name: ""}), [])


def test_the_order_of_the_devices_does_not_matter() -> None:
    one = hard_facts(Readings(), ["simulated", "cpu", "cpu"])
    assert one == hard_facts(Readings(), ["cpu", "simulated"])
    assert one["devices"] == "cpu simulated"


def test_a_shortened_x86_name_is_completed_by_its_numbers() -> None:
    model = hard_facts(_cpuinfo(_EPYC + "\n" + _EPYC), [])["cpu.model"]
    assert model == "AMD EPYC family 25 model 17"
    other = hard_facts(_cpuinfo(_EPYC.replace(": 17", ": 1")), [])["cpu.model"]
    assert other != model


@pytest.mark.parametrize(
    ("cpuinfo", "model"),
    [
        ("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n", "ARM implementer 0x41 part 0xd0c"),
        (
            "CPU part: 0xd03\n\nCPU part: 0xd08\n\nCPU part: 0xd03",
            "ARM part 0xd03 + ARM part 0xd08",
        ),
        ("processor\t: 0\nuarch\t: sifive,u74-mc\n", "sifive,u74-mc"),
        ("processor\t: 0\ncpu\t: POWER9, altivec supported\n", "POWER9, altivec supported"),
    ],
)
def test_other_architectures_are_named_by_what_they_print(cpuinfo: str, model: str) -> None:
    assert hard_facts(_cpuinfo(cpuinfo), [])["cpu.model"] == model


def test_without_cpuinfo_the_platform_names_the_processor() -> None:
    assert hard_facts(Readings(processor="Apple M4\n"), [])["cpu.model"] == "Apple M4"


def test_patch_releases_are_comparable_and_explain() -> None:
    readings = Readings(python_version="3.13.7", python_abi="t", numpy_version="2.4.6")
    hard, soft = hard_facts(readings, []), soft_facts(readings)
    assert (hard["python.version"], hard["numpy.version"]) == ("3.13t", "2.4")
    assert (soft["python.exact"], soft["numpy.exact"]) == ("3.13.7", "2.4.6")


def test_blas_and_instruction_set_are_as_numpy_reports() -> None:
    config = {
        "Build Dependencies": {"blas": {"name": "scipy-openblas", "version": "0.3.31"}},
        "SIMD Extensions": {"found": ["X86_V3", "X86_V4"]},
    }
    facts = hard_facts(Readings(numpy_config=config), [])
    assert facts["blas.name"] == "scipy-openblas"
    assert facts["blas.version"] == "0.3.31"
    assert facts["numpy.simd"] == "X86_V3 X86_V4"


@pytest.mark.parametrize(
    "config", [{"Build Dependencies": "none"}, {"SIMD Extensions": []}, {"SIMD Extensions": {}}]
)
def test_a_numpy_config_of_another_shape_gives_no_fact(config: dict[str, object]) -> None:
    facts = hard_facts(Readings(numpy_config=config), [])
    assert not facts.keys() & {"blas.name", "blas.version", "numpy.simd"}


@pytest.mark.parametrize(
    ("path", "text", "fact", "value"),
    [
        ("/sys/fs/cgroup/cpu.max", "150000 100000\n", "cpu.quota", "1.5 cores"),
        ("/sys/fs/cgroup/cpu.max", "max 100000\n", "cpu.quota", None),
        ("/sys/fs/cgroup/cpu.max", "1 0\n", "cpu.quota", None),
        (f"{_CPU}/cpu0/cpufreq/scaling_governor", "performance\n", "cpu.governor", "performance"),
        (f"{_CPU}/cpu0/cpufreq/scaling_max_freq", "3400000\n", "cpu.max_frequency", "3.40 GHz"),
        (f"{_CPU}/cpu0/cpufreq/scaling_max_freq", "<unknown>\n", "cpu.max_frequency", None),
        (f"{_CPU}/cpufreq/boost", "1\n", "cpu.boost", "on"),
        (f"{_CPU}/intel_pstate/no_turbo", "1\n", "cpu.boost", "off"),
        (f"{_CPU}/intel_pstate/no_turbo", "0\n", "cpu.boost", "on"),
        (f"{_CPU}/smt/active", "1\n", "cpu.smt", "on"),
        (_HUGEPAGES, "always [madvise] never\n", "memory.hugepages", "madvise"),
        (_HUGEPAGES, "unknown\n", "memory.hugepages", None),
        ("/proc/meminfo", "MemTotal:       24673100 kB\n", "memory.total", "25.3 GB"),
        ("/proc/meminfo", "MemTotal: lots\n", "memory.total", None),
        ("/proc/cpuinfo", _EPYC, "cpu.virtual", "yes"),
        ("/proc/cpuinfo", "flags : fpu", "cpu.virtual", None),
        (
            "/etc/os-release",
            'NAME="x"\nPRETTY_NAME="Debian 12"\n',
            "os.distribution",
            "Debian 12",
        ),
        ("/.dockerenv", "", "container.kind", "docker"),
        ("/run/.containerenv", "", "container.kind", "podman"),
    ],
)
def test_a_file_gives_its_soft_fact(path: str, text: str, fact: str, value: str | None) -> None:
    assert path in FILES
    assert soft_facts(Readings(files={path: text})).get(fact) == value


@pytest.mark.parametrize(
    ("variables", "fact", "value"),
    [
        ({"CI": "true", "GITHUB_ACTIONS": "true"}, "ci.provider", "GitHub Actions"),
        ({"CI": "true"}, "ci.provider", "unnamed"),
        ({}, "ci.provider", None),
        ({"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "container.kind", "kubernetes"),
        ({"container": "lxc"}, "container.kind", "lxc"),
    ],
)
def test_a_variable_gives_its_soft_fact(
    variables: dict[str, str], fact: str, value: str | None
) -> None:
    assert soft_facts(Readings(variables=variables)).get(fact) == value


def test_two_hosts_are_told_apart_without_naming_them_and_stay_comparable() -> None:
    one, other = Readings(host="runner-17"), Readings(host="runner-18")
    assert soft_facts(one)["host.hash"] != soft_facts(other)["host.hash"]
    assert "runner" not in str(soft_facts(one))
    assert hard_facts(one, []) == hard_facts(other, [])


@given(st.text(), st.text(st.characters(categories=["Cs", "Cc", "Zs", "Lu"])))
def test_any_reading_becomes_one_printable_line(one: str, other: str) -> None:
    facts = hard_facts(
        Readings(architecture=one, processor=other, variables={"OMP_NUM_THREADS": one}), [other]
    ) | soft_facts(Readings(host=other, release=one, files=dict.fromkeys(FILES, other)))
    for value in facts.values():
        assert value.isprintable()
        assert value.encode("utf-8")
        assert len(value) <= 200


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (None, (None, None)),
        ("", (None, None)),
        ("# branch.oid (initial)\n# branch.head main\n", (None, None)),
        (f"# branch.oid {_COMMIT}\n# branch.head main\n", (_COMMIT, False)),
        (f"# branch.oid {_COMMIT}\n1 .M N... 100644 100644 100644 a b f.py\n", (_COMMIT, True)),
    ],
)
def test_the_state_of_the_code_is_read_from_git_status(
    status: str | None, state: tuple[str | None, bool | None]
) -> None:
    assert git_state(status) == state


def test_another_source_adds_its_facts_about_the_devices() -> None:
    def gpu(devices: object) -> Facts:
        return Facts(hard={"gpu.name": f"H200 of {devices}"}, soft={"gpu.temperature": "40 C"})

    found = environment(Readings(), ["cuda:0"], more=[gpu])
    assert found.hard["gpu.name"] == "H200 of ['cuda:0']"
    assert found.hard["devices"] == "cuda:0"
    assert found.soft == {"gpu.temperature": "40 C"}
