"""Targets are found by name, and this machine gets the widest it can run."""

from dataclasses import replace

import pytest

from ncc.compiler import target as target_module
from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.options import Options
from ncc.compiler.target import (
    AMX,
    AVX2,
    AVX512,
    AVX512_VNNI,
    CORTEX_A55,
    NEON,
    NEOVERSE_V1,
    ONE_UNIT,
    TARGETS,
    TWO_UNITS,
    TWO_UNITS_OF_AMD,
    Core,
    Target,
    tile_cycles,
    tile_rows,
)
from ncc.runtime import cpu


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_found_by_name(target: Target) -> None:
    """A target's name leads to it."""
    assert Target.of(target.name) is target


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_host_is_the_widest_supported(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU with just the features of a target gets that target, for the core at hand."""
    monkeypatch.setattr(cpu, "features", lambda: target.features | {"sse2"})
    monkeypatch.setattr(cpu, "allow_tiles", lambda: True)
    assert replace(Target.of("host"), core=target.core) == target


@pytest.mark.parametrize(
    ("units", "of_amd", "likeness"),
    [(1, True, ONE_UNIT), (1, False, ONE_UNIT), (2, True, TWO_UNITS_OF_AMD), (2, False, TWO_UNITS)],
)
def test_the_core_at_hand_is_asked(
    units: int, of_amd: bool, likeness: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its caches, how much it multiplies and who made it are what choices for "host" are made by;
    one with narrow vectors has two units for them.
    """
    monkeypatch.setattr(cpu, "is_of_amd", lambda: of_amd)
    monkeypatch.setattr(cpu, "features", lambda: AVX512.features)
    monkeypatch.setattr(cpu, "wide_multiply_adders", lambda: units)
    monkeypatch.setattr(cpu, "l1_bytes", lambda: 40 << 10)
    monkeypatch.setattr(cpu, "l2_bytes", lambda: 3 << 20)
    assert likeness.multiply_adds == units
    assert Target.of("host").core == replace(likeness, l1_bytes=40 << 10, l2_bytes=3 << 20)
    monkeypatch.setattr(cpu, "features", lambda: AVX2.features)
    narrow = TWO_UNITS_OF_AMD if of_amd else TWO_UNITS
    assert Target.of("host").core == replace(narrow, l1_bytes=40 << 10, l2_bytes=3 << 20)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("shared", [False, True])
def test_virtual_cores_share_tiles(
    shared: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has half of them, on any number of threads; a target by name has all of them, and one
    without tiles does not ask.
    """
    asked: list[bool] = []

    def shares_cores() -> bool:
        asked.append(shared)
        return shared

    monkeypatch.setattr(cpu, "features", lambda: AMX.features)
    monkeypatch.setattr(cpu, "allow_tiles", lambda: True)
    monkeypatch.setattr(cpu, "shares_cores", shares_cores)
    here = Options.of(opt_level=3, num_threads=threads).target
    whole = AMX.core.tile_multiply_adds
    assert here.name == "amx" and asked
    assert here.core.tile_multiply_adds == (whole // 2 if shared else whole)
    asked.clear()
    assert Options.of(opt_level=3, target="amx").target.core.tile_multiply_adds == whole
    assert Options.of(opt_level=2).target.core.tile_multiply_adds == whole
    assert not asked


@pytest.mark.parametrize(
    ("parts", "core"),
    [
        ([0x41_D05], CORTEX_A55),
        ([0x41_D05, 0x41_D0B, 0x41_D44], NEOVERSE_V1),
        ([0x61_022], NEOVERSE_V1),
        ([0x7F_001], NEON.core),
        ([], NEON.core),
    ],
    ids=["small", "the largest of several", "Apple's", "unknown", "not listed"],
)
def test_cores_of_arm_are_known_by_maker_and_part(
    parts: list[int], core: Core, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Choices for "host" are made for the largest core, with the caches at hand."""
    monkeypatch.setattr(cpu, "features", lambda: NEON.features)
    monkeypatch.setattr(target_module, "arm_parts", lambda: parts)
    monkeypatch.setattr(cpu, "l1_bytes", lambda: 40 << 10)
    monkeypatch.setattr(cpu, "l2_bytes", lambda: 3 << 20)
    here = Target.of("host")
    assert here == replace(NEON, core=replace(core, l1_bytes=40 << 10, l2_bytes=3 << 20))


def test_code_for_android_leaves_its_register_alone() -> None:
    """One object is for Linux and for Android."""
    for target in TARGETS:
        if target.architecture == "aarch64":
            assert "+reserve-x18" in target.instructions
            assert target.triple.count("-") == 3, "three parts name another system"


def test_rows_of_tiles() -> None:
    """As many as divide a row of points well; short tiles take no less than ten."""
    assert [tile_rows(extent, 16) for extent in (1, 7, 16, 28, 56, 100)] == [1, 7, 16, 14, 14, 15]
    assert tile_cycles(1) == tile_cycles(6) < tile_cycles(7) < tile_cycles(16)


@pytest.mark.parametrize(("allowed", "tiles"), [(False, True), (True, False)])
def test_no_tiles(allowed: bool, tiles: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the system forbids them, or the code will not use them, which does not even ask."""
    asked: list[bool] = []

    def allow() -> bool:
        asked.append(allowed)
        return allowed

    monkeypatch.setattr(cpu, "features", lambda: AMX.features)
    monkeypatch.setattr(cpu, "allow_tiles", allow)
    assert replace(Target.of("host", tiles), core=AVX512_VNNI.core) == AVX512_VNNI
    assert bool(asked) == tiles
    assert Target.of("amx", tiles) is (AMX if tiles else AVX512_VNNI)


def test_a_machine_without_a_target_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code for others can be made there."""
    monkeypatch.setattr(cpu, "features", frozenset)
    monkeypatch.setattr(cpu, "machine", lambda: "s390x")
    with pytest.raises(Unsupported, match="code for this machine, s390x"):
        Target.of("host")


def test_unknown_name_lists_the_known() -> None:
    """An unknown name is refused with the names that there are."""
    known = "host, amx, avx512vnni, avx512, avx2, baseline, neoni8mm, neondot, neon"
    with pytest.raises(Unsupported, match=known):
        Target.of("altivec")
