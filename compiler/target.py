"""What the compiler compiles for: the vector units and registers of a family of CPUs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncc.compiler.diagnostics import Unsupported
from ncc.runtime import cpu


@dataclass(frozen=True)
class Target:
    """A family of CPUs, as far as schedules and code generation tell them apart."""

    name: str
    """What the command line calls it."""
    cpu: str
    """What LLVM calls it. A psABI level, not a model: tuning for znver4 makes a register tile of
    14x2 spill."""
    features: frozenset[str]
    """What a CPU must offer to run the code, in the names of /proc/cpuinfo."""
    lanes: int
    """Float32 elements of one vector register."""
    registers: int
    """Number of vector registers."""
    fma: bool
    """Whether there is a fused multiply-add instruction."""
    instructions: str = ""
    """What LLVM may use beyond those of `cpu`, in its names."""
    dot: bool = False
    """Whether one instruction adds four products of bytes to each int32 of a register."""

    @staticmethod
    def of(name: str) -> Target:
        """The target of that name. "host" is the widest one that this CPU supports.

        Raises Unsupported when there is no such target.
        """
        if name == "host":
            here = cpu.features()
            return next(target for target in TARGETS if target.features <= here)
        for target in TARGETS:
            if target.name == name:
                return target
        known = ["host", *(target.name for target in TARGETS)]
        raise Unsupported(f"target {name!r}", nearest=", ".join(known))


AVX512 = Target("avx512", "x86-64-v4", cpu.TARGETS["avx512"], lanes=16, registers=32, fma=True)
AVX512_VNNI = replace(
    AVX512,
    name="avx512vnni",
    features=cpu.TARGETS["avx512vnni"],
    instructions="+avx512vnni",
    dot=True,
)
AVX2 = Target("avx2", "x86-64-v3", cpu.TARGETS["avx2"], lanes=8, registers=16, fma=True)
BASELINE = Target("baseline", "x86-64", cpu.TARGETS["baseline"], lanes=4, registers=16, fma=False)

TARGETS = (AVX512_VNNI, AVX512, AVX2, BASELINE)
"""Widest first."""
