"""Addresses become parts of instructions of aarch64, or are refused."""

from __future__ import annotations

import pytest

from ncc.runtime.relocations import RELOCATIONS

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
