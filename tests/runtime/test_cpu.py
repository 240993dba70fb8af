"""The processor's own answers agree with the operating system's."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ncc.runtime import cpu


def cpuinfo_flags() -> set[str]:
    """Flags of the first core in /proc/cpuinfo."""
    match = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    if match is None:
        pytest.skip("/proc/cpuinfo lists no flags here")
    return set(match[1].split())


def test_features_are_those_of_cpuinfo() -> None:
    """What both can name, both name: no feature is missed and none invented."""
    nameable = {name for names in cpu._BITS.values() for name in names.values()}
    assert cpu.features() == cpuinfo_flags() & nameable


def test_where_a_processor_tells_of_features() -> None:
    """A word for each register of cpuid, with the bits of all features that are asked for."""
    edx, ecx = 3, 2
    assert cpu.words_of({"sse2", "sse", "fma"}) == [
        (1, 0, edx, 1 << 25 | 1 << 26), (1, 0, ecx, 1 << 12),
    ]  # fmt: skip
    assert cpu.words_of(()) == []
    for target in ("amx", "avx512vnni", "avx2", "baseline"):
        words = cpu.words_of(cpu.TARGETS[target])
        assert sum(word[3].bit_count() for word in words) == len(cpu.TARGETS[target])


def test_registers_that_features_need_the_system_to_save() -> None:
    """Those of all features together."""
    assert cpu.saved_state_of({"sse2"}) == 0
    assert cpu.saved_state_of({"sse2", "fma"}) == 0b110
    assert cpu.saved_state_of({"avx2", "avx512f"}) == 0b1110_0110
    assert cpu.saved_state_of({"amx_tile", "fma"}) == 0b11 << 17 | 0b110


def test_the_model_is_that_of_cpuinfo() -> None:
    """Its name and, in hexadecimal, its stepping as the last digit."""
    text = Path("/proc/cpuinfo").read_text()
    name = re.search(r"^model name\s*:\s*(.*)$", text, re.MULTILINE)
    stepping = re.search(r"^stepping\s*:\s*(\d+)$", text, re.MULTILINE)
    if name is None or stepping is None:
        pytest.skip("/proc/cpuinfo names no model here")
    *words, signature = cpu.model().split()
    assert words == name[1].split() and int(signature, 16) & 0xF == int(stepping[1])


def test_wide_registers_count_only_when_the_system_saves_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With XCR0 saying SSE only, nothing of AVX, FMA, AVX-512 or AMX remains."""
    monkeypatch.setattr(cpu.Processor, "saved_state", lambda self: 0b11)
    seen = cpu.features.__wrapped__()
    assert "sse2" in seen
    assert not {name for name in seen if name.startswith(("avx", "amx")) or name == "fma"}
    monkeypatch.setattr(cpu.Processor, "saved_state", lambda self: 0b111)
    seen = cpu.features.__wrapped__()
    assert not {name for name in seen if name.startswith(("avx512", "amx"))}
    assert "avx2" in seen or "avx2" not in cpuinfo_flags()


def test_the_widest_target_is_supported() -> None:
    """Its features are all here, and every wider target lacks some."""
    name = cpu.widest_target()
    assert name is not None
    names = list(cpu.TARGETS)
    assert cpu.TARGETS[name] <= cpu.features()
    for wider in names[: names.index(name)]:
        assert not cpu.TARGETS[wider] <= cpu.features()


def test_targets_are_nested() -> None:
    """Code for a narrower target runs wherever that for a wider one does."""
    assert cpu.TARGETS["baseline"] < cpu.TARGETS["avx2"] < cpu.TARGETS["avx512"]


def test_tiles_are_allowed_only_where_there_are_any() -> None:
    """On a CPU without AMX the request is not even made."""
    if "amx_tile" not in cpu.features():
        assert cpu.allow_tiles() is False
    else:
        assert cpu.allow_tiles() is True


def test_cores_respects_affinity() -> None:
    """A process bound to one core has one core."""
    before = os.sched_getaffinity(0)
    assert 1 <= cpu.cores() <= len(before)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert cpu.cores() == 1
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("cpus", "siblings", "shared"),
    [
        ([0, 1], {0: "0", 1: "1"}, False),
        ([0, 1], {0: "0-1", 1: "0-1"}, True),
        ([0, 1], {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, False),
        ([0, 1, 3], {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}, True),
        ([1], {0: "0-1", 1: "0-1"}, False),
        ([0, 1], {}, False),
        ([0, 1], {0: "0-1"}, False),
    ],
    ids=["cores", "siblings", "one of each", "three of two", "bound", "unknown", "half known"],
)
def test_virtual_cores(
    tmp_path: Path, cpus: list[int], siblings: dict[int, str], shared: bool
) -> None:
    """Two that a process may use are of one core, if it has both of them."""
    for number, text in siblings.items():
        folder = tmp_path / f"cpu{number}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(f"{text}\n")
    assert cpu._share_cores(cpus, tmp_path) == shared


def test_a_process_on_one_cpu_shares_with_itself_alone() -> None:
    """Whatever else that core has."""
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert not cpu.shares_cores()
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.parametrize(
    ("groups", "files", "quota"),
    [
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "max 100000"}, None),
        ("0::/\n", {"sys/fs/cgroup/cpu.max": "250000 100000"}, 2.5),
        (
            "0::/a/b\n",
            {"sys/fs/cgroup/a/cpu.max": "150000 100000", "sys/fs/cgroup/a/b/cpu.max": "max 9"},
            1.5,
        ),
        ("0::/host/only\n", {"sys/fs/cgroup/cpu.max": "50000 100000"}, 0.5),
        (
            "3:cpuset:/\n1:cpu,cpuacct:/x\n",
            {
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us": "300000",
                "sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us": "100000",
            },
            3.0,
        ),
        (
            "1:cpu:/\n",
            {
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            },
            None,
        ),
        ("", {}, None),
    ],
)
def test_quota_of_control_groups(
    tmp_path: Path, groups: str, files: dict[str, str], quota: float | None
) -> None:
    """Versions 1 and 2, limits of parents, and a container that sees its host's path."""
    for name, text in {"proc/self/cgroup": groups, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert cpu._quota(tmp_path) == quota


@pytest.mark.parametrize(("level", "told"), [("1", cpu.l1_bytes), ("2", cpu.l2_bytes)])
def test_caches_are_those_of_sysfs(level: str, told: Callable[[], int]) -> None:
    """cpuid and the kernel tell the same size."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        of_data = (index / "type").read_text().strip() != "Instruction"
        if of_data and (index / "level").read_text().strip() == level:
            kilobytes = int((index / "size").read_text().strip().removesuffix("K"))
            assert told() == kilobytes << 10
            return
    pytest.skip("sysfs does not list caches here")


@pytest.mark.parametrize(
    ("vendor", "signature", "features", "units"),
    [
        (b"GenuineIntel", 0x50657, "avx512f", 2),
        (b"GenuineIntel", 0x606A6, "avx512f", 2),
        (b"GenuineIntel", 0xA0671, "avx512f", 1),
        (b"GenuineIntel", 0xC06F2, "avx512f avx512_fp16", 2),
        (b"AuthenticAMD", 0xA60F12, "avx512f", 1),
        (b"AuthenticAMD", 0xB00F21, "avx512f", 2),
        (b"AuthenticAMD", 0xB40F40, "avx512f", 2),
        (b"AuthenticAMD", 0xB20F40, "avx512f", 1),
        (b"AuthenticAMD", 0xB60F00, "avx512f", 1),
        (b"AuthenticAMD", 0xB70F00, "avx512f", 2),
        (b"AuthenticAMD", 0x870F10, "avx2", 1),
    ],
    ids=[
        "Cascade Lake",
        "Ice Lake",
        "Rocket Lake",
        "Emerald Rapids",
        "Zen 4",
        "Zen 5 (Turin)",
        "Zen 5 (Granite Ridge)",
        "Zen 5 (Strix Point)",
        "Zen 5 (Krackan Point)",
        "Zen 5 (Strix Halo)",
        "Zen 2",
    ],
)
def test_wide_multiply_adders(
    monkeypatch: pytest.MonkeyPatch, vendor: bytes, signature: int, features: str, units: int
) -> None:
    """As the makers' tables say of the processors with these signatures."""
    name = int.from_bytes(vendor[:4], "little")
    leaves = {0: (0, name, 0, 0), 1: (signature, 0, 0, 0)}
    monkeypatch.setattr(cpu.Processor, "leaf", lambda self, leaf: leaves[leaf])
    monkeypatch.setattr(cpu, "features", lambda: frozenset(features.split()))
    of_amd = cpu.is_of_amd.__wrapped__()
    monkeypatch.setattr(cpu, "is_of_amd", lambda: of_amd)
    assert of_amd == (vendor == b"AuthenticAMD")
    assert cpu.wide_multiply_adders.__wrapped__() == units
