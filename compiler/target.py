"""Targets and cores: vectors, registers and instructions; and the cycles that a core needs."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ncc.compiler.cost_model import CostModel
from ncc.compiler.diagnostics import Unsupported
from ncc.runtime import cpu


@dataclass(frozen=True)
class Core:
    """The cycles of one core of a CPU in sustained work, for cost models.

    A line has 64 bytes; its cycles are the inverse of a bandwidth, not a latency.
    """

    multiply_adds: int
    """Multiply-adds of vectors, as wide as the target's, a cycle."""
    l1_bytes: int
    l2_bytes: int
    l2_line: float
    """Cycles of a line from L2."""
    l3_line: float
    """Cycles of a line from L3."""
    memory_line: float
    """Cycles of a line from memory."""
    streams: int
    """Streams of lines from beyond L2 that the hardware prefetches as fast as one."""
    division: float
    """Cycles of a division of vectors, which overlaps with multiply-adds."""
    operand: float
    """Cycles that each load adds to a step of a sum, even where it overlaps with multiply-adds."""
    sums: int
    """Accumulators of a tile that out-of-order execution starts and stores while other tiles
    multiply."""
    joins: bool
    """Whether shuffles of two vectors overlap with multiply-adds, so that they cost nothing."""
    tile_multiply_adds: int = 140
    """Multiply-adds a cycle by halves of bfloat16 on matrix tiles, if there are any, as measured on
    an Emerald Rapids: three products of tiles of 16 x 16 x 32 in 58 cycles."""

    @staticmethod
    def here(wide: bool, tiles: bool) -> Core:
        """The core at hand, for targets with 512-bit vectors or narrower ones, with matrix tiles or
        without.

        Virtual CPUs of one core have one unit for tiles, which keeps either of them busy: each has
        half of it. Threads may be few enough for a unit each, but results shall not depend on that.
        """
        found = replace(Core._likeness(wide), l1_bytes=cpu.l1_bytes(), l2_bytes=cpu.l2_bytes())
        if tiles and cpu.shares_cores():
            return replace(found, tile_multiply_adds=found.tile_multiply_adds // 2)
        return found

    @staticmethod
    def _likeness(wide: bool) -> Core:
        if wide and cpu.wide_multiply_adders() == 1:
            return ONE_UNIT
        return TWO_UNITS_OF_AMD if cpu.is_of_amd() else TWO_UNITS


ONE_UNIT = Core(
    multiply_adds=1,
    l1_bytes=32 << 10,
    l2_bytes=1 << 20,
    l2_line=3.0,
    l3_line=5.0,
    memory_line=10.0,
    streams=4,
    division=6.0,
    operand=0.1,
    sums=32,
    joins=False,
)
"""As measured on a Zen 4, whose two units for 256 bits do a vector of 512 together."""

TWO_UNITS = Core(
    multiply_adds=2,
    l1_bytes=48 << 10,
    l2_bytes=2 << 20,
    l2_line=2.5,
    l3_line=7.5,
    memory_line=13.0,
    streams=8,
    division=16.0,
    operand=0.05,
    sums=32,
    joins=False,
)
"""As measured on an Emerald Rapids. What is not known is taken for one of these: a tile that
suits two units suits one, not the other way round."""

TWO_UNITS_OF_AMD = Core(
    multiply_adds=2,
    l1_bytes=48 << 10,
    l2_bytes=1 << 20,
    l2_line=2.5,
    l3_line=7.5,
    memory_line=11.0,
    streams=4,
    division=2.5,
    operand=0.0,
    sums=13,
    joins=True,
)
"""As measured on a Zen 5, by vectors of 512 bits and of 256. Memory is that of two cores which both
read: one alone has a line in 6 cycles, but what is chosen for many weights by that takes more
memory and loses on two threads."""


FLAT = 0.9
"""The part of the products that matrix tiles take at most which go on from row to row of points,
over what lies between them: storing their rows takes longer."""


def tile_cycles(rows: int) -> float:
    """Cycles of one product of matrix tiles, the first of so many rows, as measured: rows are only
    partly proportional.
    """
    return max(9.7, 5.1 + 0.71 * rows)


def tile_rows(extent: int, most: int) -> int:
    """Rows of a matrix tile that divide a row of points into tiles in the least time."""
    return min(
        range(1, min(extent, most) + 1),
        key=lambda n: (-(-extent // n) * tile_cycles(n), -n),
    )


@dataclass(frozen=True)
class Target:
    """A family of CPUs, as far as schedules and code generation tell them apart."""

    name: str
    """The name on the command line."""
    cpu: str
    """What LLVM calls it. A psABI level, not a model: tuning for znver4 makes a register tile of
    14x2 spill."""
    features: frozenset[str]
    """The features that a CPU needs to run the code, in the names of /proc/cpuinfo."""
    lanes: int
    """Float32 elements of one vector register."""
    registers: int
    """Number of vector registers."""
    fma: bool
    """Whether there is a fused multiply-add instruction."""
    instructions: str = ""
    """The features that LLVM may use in addition to those of `cpu`, in its names."""
    dot: bool = False
    """Whether one instruction adds four products of bytes to each int32 of a register."""
    tiles: bool = False
    """Whether there are registers of 16 x 16 float32 that take in products of bfloat16."""
    core: Core = TWO_UNITS
    """The core that choices are made for; "host" looks at the one at hand."""
    costs: CostModel = CostModel()
    """What choices of plans compare with."""

    @property
    def widens_float16(self) -> bool:
        """Whether there is an instruction that makes float32 of float16."""
        return "f16c" in self.features

    @property
    def shortest(self) -> int:
        """Elements of the shortest vectors that take no longer than their share of a whole one.

        What multiplies one vector of 512 bits in a cycle are two units for 256 bits, on all CPUs.
        """
        return self.lanes // 2 if self.lanes == 16 and self.core.multiply_adds == 1 else self.lanes

    @property
    def shortest_factor(self) -> int:
        """The same of vectors that points are multiplied with: two points may share a whole one."""
        return self.lanes // 2 if self.lanes == 16 and self.core.joins else self.shortest

    @property
    def folds(self) -> bool:
        """Whether a vector of half the length takes as long as a whole one, and so does a vector
        that two points share.
        """
        return self.lanes == 16 and self.shortest_factor == self.lanes

    @staticmethod
    def of(name: str, tiles: bool = True) -> Target:
        """The target of that name. "host" is the widest one that this CPU supports.

        tiles: whether the code may use matrix tiles. Without them a target that has some is the
        next one, and the system is not asked to allow them.

        Raises Unsupported when there is no such target.
        """
        if name == "host":
            here = cpu.features()
            fitting = (target for target in TARGETS if target.features <= here)
            widest = next(t for t in fitting if not t.tiles or (tiles and cpu.allow_tiles()))
            wide = widest.lanes == AVX512.lanes
            return replace(widest, core=Core.here(wide, widest.tiles))
        for target in TARGETS:
            if target.name == name:
                return target if tiles or not target.tiles else AVX512_VNNI
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
AMX = replace(
    AVX512_VNNI,
    name="amx",
    features=cpu.TARGETS["amx"],
    instructions="+avx512vnni,+avx512bf16,+avx512vbmi,+amx-tile,+amx-bf16",
    tiles=True,
)
AVX2 = Target("avx2", "x86-64-v3", cpu.TARGETS["avx2"], lanes=8, registers=16, fma=True)
BASELINE = Target("baseline", "x86-64", cpu.TARGETS["baseline"], lanes=4, registers=16, fma=False)

TARGETS = (AMX, AVX512_VNNI, AVX512, AVX2, BASELINE)
"""Widest first."""
