"""Addresses become parts of instructions of aarch64 and riscv64, or are refused."""

from __future__ import annotations

import pytest

from ncc.runtime.errors import ArtifactError
from ncc.runtime.relocations import RELOCATIONS, joined

ARM = {kind.name.removeprefix("R_AARCH64_"): kind for kind in RELOCATIONS["aarch64"].values()}
HERE = 0x7F00_1234_5000

ADRP, ADD, LDR_Q, LDR_X, BL = 0x90000008, 0x91000108, 0x3DC00100, 0xF9400108, 0x94000000


@pytest.mark.parametrize(
    ("name", "before", "value", "after"),
    [
        ("ADR_PREL_PG_HI21", ADRP, HERE + 0x1FFF, 0xB0000008),  # adrp x8, one page on
        ("ADR_PREL_PG_HI21", ADRP, HERE - 1, 0xF0FFFFE8),  # adrp x8, one page back
        ("ADD_ABS_LO12_NC", ADD, HERE + 0xABC, 0x912AF108),  # add x8, x8, #0xabc
        ("LDST128_ABS_LO12_NC", LDR_Q, HERE + 0xFF0, 0x3DC3FD00),  # ldr q0, [x8, #0xff0]
        ("LDST64_ABS_LO12_NC", LDR_X, HERE + 8, 0xF9400508),  # ldr x8, [x8, #8]
        ("CALL26", BL, HERE + 0x1C, 0x94000007),
        ("CALL26", BL, HERE - 4, 0x97FFFFFF),
        ("CALL26", 0x97FFFFFF, HERE + 4, 0x94000001),
        ("PREL32", 0xFFFF_FFFF, HERE - 16, 0xFFFF_FFF0),
        ("ABS64", 0, HERE, HERE),
    ],
)
def test_instructions_refer_to_addresses(name: str, before: int, value: int, after: int) -> None:
    """As an assembler writes them; what stood in the field before does not matter."""
    assert ARM[name].patch(before, HERE, value) == after


@pytest.mark.parametrize(
    ("name", "distance"),
    [
        ("CALL26", 1 << 27),
        ("JUMP26", -(1 << 27) - 4),
        ("ADR_PREL_PG_HI21", 1 << 32),
        ("PREL32", 1 << 31),
        ("LDST64_ABS_LO12_NC", 4),
    ],
)
def test_what_does_not_fit_is_refused(name: str, distance: int) -> None:
    """Too far, or not aligned."""
    assert ARM[name].patch(0, HERE, HERE + distance) is None


RISCV = {kind.name.removeprefix("R_RISCV_"): kind for kind in RELOCATIONS["riscv64"].values()}
AUIPC, LD, SD, CALL = 0x00000517, 0x00053503, 0x00B53023, 0x0000_80E7_0000_0097


@pytest.mark.parametrize(
    ("name", "before", "value", "after"),
    [
        ("PCREL_HI20", AUIPC, HERE + 0x7FE, 0x00000517),
        ("PCREL_HI20", AUIPC, HERE + 0x800, 0x00001517),  # the rest is negative
        ("GOT_HI20", AUIPC, HERE - 0x801, 0xFFFFF517),
        ("PCREL_LO12_I", LD, HERE - 16, 0xFF053503),  # ld a0, -16(a0)
        ("PCREL_LO12_I", 0xFFF53503, HERE + 0x3000, LD),
        ("PCREL_LO12_S", SD, HERE + 0x17FE, 0x7EB53F23),  # sd a1, 2046(a0)
        ("PCREL_LO12_S", 0x7EB53F23, HERE - 1, 0xFEB53FA3),  # sd a1, -1(a0)
        ("CALL_PLT", CALL, HERE + 0xFFC, 0xFFC0_80E7_0000_1097),  # one page on, 4 bytes back
        ("32_PCREL", 0xFFFF_FFFF, HERE - 16, 0xFFFF_FFF0),
        ("64", 0, HERE, HERE),
    ],
)
def test_instructions_of_riscv64(name: str, before: int, value: int, after: int) -> None:
    """A distance is an upper part, rounded to the nearest, and a rest with a sign."""
    assert RISCV[name].patch(before, HERE, value) == after


@pytest.mark.parametrize("name", ["PCREL_HI20", "GOT_HI20", "CALL_PLT", "32_PCREL"])
@pytest.mark.parametrize("distance", [1 << 31, -(1 << 31) - 0x801])
def test_what_is_too_far_on_riscv64(name: str, distance: int) -> None:
    """2 GB each way."""
    assert RISCV[name].patch(CALL, HERE, HERE + distance) is None


def test_a_lower_part_is_the_rest_of_the_upper_part() -> None:
    """It names the instruction with the upper part, which names the target, by a slot or not."""
    upper, slot, lower, store = 23, 20, 24, 25
    labels, target, other = {1: 8, 2: 32}, 7, 9
    places = [
        (8, upper, target, 4), (16, lower, 1, 0), (20, store, 1, 0),
        (32, slot, other, 0), (36, lower, 2, 0),
    ]  # fmt: skip
    found = joined("riscv64", places, labels.__getitem__)
    assert found[:3] == [(8, upper, target, 4), (16, lower, target, 12), (20, store, target, 16)]
    (_, through, symbol, addend) = found[4]
    assert RELOCATIONS["riscv64"][through].through_table and (symbol, addend) == (other, 4)
    assert joined("aarch64", places, labels.__getitem__) == places
    with pytest.raises(ArtifactError, match="without its upper part"):
        joined("riscv64", places[1:], labels.__getitem__)
