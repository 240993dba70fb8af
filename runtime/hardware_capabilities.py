"""Instruction sets of aarch64 and riscv64, as Linux tells every program in its auxiliary vector.

The numbers are those of the kernel: `asm/hwcap.h`, and `linux/auxvec.h`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping

_HWCAP, _HWCAP2 = 16, 26

_BITS: Mapping[str, Mapping[tuple[int, int], str]] = {
    "aarch64": {
        (_HWCAP, 1): "asimd", (_HWCAP, 10): "asimdhp", (_HWCAP, 20): "asimddp",
        (_HWCAP, 22): "sve", (_HWCAP2, 1): "sve2", (_HWCAP2, 13): "i8mm", (_HWCAP2, 14): "bf16",
        (_HWCAP2, 23): "sme",
    },
    "riscv64": {(_HWCAP, ord("v") - ord("a")): "v"},
}  # fmt: skip
"""The bit of a word of the vector for each feature, in the names of /proc/cpuinfo."""


def features_of(machine: str) -> frozenset[str]:
    """What this processor has, if it is of this kind; nothing for any other kind."""
    bits = _BITS.get(machine, {})
    words = {number: auxiliary_word(number) for number, _ in bits}
    return frozenset(name for (number, bit), name in bits.items() if words[number] >> bit & 1)


def words_of(machine: str, features: Iterable[str]) -> dict[int, int]:
    """The words of the vector that tell of some features, and the bits that must be set in each.

    A feature that this ncc does not know has no word.
    """
    needed, masks = frozenset(features), dict[int, int]()
    for (number, bit), name in _BITS.get(machine, {}).items():
        if name in needed:
            masks[number] = masks.get(number, 0) | 1 << bit
    return masks


def auxiliary_word(number: int) -> int:
    """A word of the auxiliary vector; 0 if the system has none of that number."""
    ask = ctypes.CDLL(None).getauxval
    ask.restype, ask.argtypes = ctypes.c_ulong, (ctypes.c_ulong,)
    return int(ask(number))
