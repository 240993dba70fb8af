"""Targets and cores: vectors, registers and instructions; and the cycles that a core needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ncc.compiler.cost_model import CostModel, Reductions
from ncc.compiler.diagnostics import Unsupported
from ncc.dialects.size import largest
from ncc.runtime import cpu
from ncc.runtime.system_cores import arm_parts

L1_WAY = 4096
"""The distance in bytes of addresses in the same set of the first-level cache."""


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
    """Cycles that each load adds to an iteration of a sum, even where it overlaps with its
    multiply-adds."""
    sums: int
    """Accumulators of a tile that out-of-order execution starts and stores while other tiles
    multiply."""
    joins: bool
    """Whether shuffles of two vectors overlap with multiply-adds, so that they cost nothing."""
    width: float = 0.0
    """Instructions a cycle, if loads are instructions of their own; 0 if multiply-adds load."""
    loads: float = 2.0
    """Loads a cycle, of vectors or of elements, if loads are instructions of their own."""
    tile_multiply_adds: int = 140
    """Multiply-adds a cycle in bf16x3 on matrix tiles, if there are any, as measured on
    an Emerald Rapids: three products of tiles of 16 x 16 x 32 in 58 cycles."""

    @staticmethod
    def here(target: Target) -> Core:
        """The core at hand, for a target whose instructions it has.

        Virtual CPUs of one core have one unit for tiles, which keeps either of them busy: each has
        half of it. Threads may be few enough for a unit each, but results shall not depend on that.
        """
        likeness = Core._likeness(target)
        found = replace(likeness, l1_bytes=cpu.l1_bytes(), l2_bytes=cpu.l2_bytes())
        if target.tiles and cpu.shares_cores():
            return replace(found, tile_multiply_adds=found.tile_multiply_adds // 2)
        return found

    @staticmethod
    def _likeness(target: Target) -> Core:
        if target.architecture != "x86_64":
            known = [CORES_OF_ARM[part] for part in arm_parts() if part in CORES_OF_ARM]
            return max(known, key=lambda core: core.width, default=target.core)
        if target.lanes == AVX512.lanes and cpu.wide_multiply_adders() == 1:
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

CORTEX_A55 = Core(
    multiply_adds=1,
    l1_bytes=32 << 10,
    l2_bytes=128 << 10,
    l2_line=5.0,
    l3_line=12.0,
    memory_line=30.0,
    streams=4,
    division=13.0,
    operand=0.25,
    sums=32,
    joins=False,
    width=2.0,
    loads=1.0,
)
"""A small core of ARM, which begins instructions in their order. As all cores of ARM here: not
measured, but taken from what its maker and LLVM say of it."""

CORTEX_A76 = replace(
    CORTEX_A55,
    multiply_adds=2,
    l1_bytes=64 << 10,
    l2_bytes=512 << 10,
    l2_line=4.0,
    l3_line=10.0,
    memory_line=20.0,
    division=10.0,
    sums=28,
    width=4.0,
    loads=2.0,
)
"""A large core of phones and boards, and Neoverse N1. Not measured."""

NEOVERSE_V1 = replace(
    CORTEX_A76, multiply_adds=4, l2_bytes=1 << 20, division=7.0, width=8.0, loads=3.0
)
"""A core of servers with four units for multiply-adds, such as Cortex-X1 and Apple's. Not
measured."""

CORES_OF_ARM: Mapping[int, Core] = {
    **dict.fromkeys((0x41_D03, 0x41_D04, 0x41_D05, 0x41_D46), CORTEX_A55),  # A53, A35, A55, A510
    **dict.fromkeys((0x41_D0B, 0x41_D0C, 0x41_D0D, 0x41_D41), CORTEX_A76),  # A76, N1, A77, A78
    **dict.fromkeys((0x41_D47, 0x41_D49, 0x41_D4D, 0x41_D81), CORTEX_A76),  # A710, N2, A715, A720
    **dict.fromkeys((0x41_D40, 0x41_D44, 0x41_D48, 0x41_D4F), NEOVERSE_V1),  # V1, X1, X2, V2
    **dict.fromkeys(range(0x61_020, 0x61_040), NEOVERSE_V1),  # M1 and M2
}
"""Cores by implementer and part, the numbers in MIDR_EL1."""


def tile_cycles(rows: int) -> float:
    """Cycles of one product of matrix tiles, the first of so many rows, as measured: rows are only
    partly proportional.
    """
    return tile_hundredths(rows) / 100


def tile_hundredths(rows: int) -> int:
    """The same in hundredths of a cycle, also for rows that the run tells."""
    return largest(970, 510 + 71 * rows)


def tile_rows(extent: int, most: int) -> int:
    """Rows of a matrix tile that divide a row of points into tiles in the least time."""
    return min(
        range(1, min(extent, most) + 1),
        key=lambda n: (-(-extent // n) * tile_cycles(n), -n),
    )


QUAD = 4
"""Products of bytes that one instruction adds to an int32."""

OCTET = 8
"""Products of bytes of a row of one matrix with a column of another one, by one instruction."""


MOST_INTERLEAVED = 8
"""The most vectors that are interleaved or deinterleaved in registers."""


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
    tuning: str = ""
    """The core that LLVM orders instructions for, in its names, if it knows one that is typical."""
    dot: bool = False
    """Whether one instruction adds four products of bytes to each int32 of a register."""
    dot_signed: bool = False
    """Whether dot products of bytes take both factors with signs; else one of them has none."""
    matrix_bytes: bool = False
    """Whether one instruction multiplies 2 x 8 bytes with 8 x 2, all with signs, and adds the
    products to four int32."""
    by_element: bool = False
    """Whether a multiply-add takes one factor from any lane of a vector, at no cost."""
    tiles: bool = False
    """Whether there are registers of 16 x 16 float32 that take in products of bfloat16."""
    triple: str = "x86_64-unknown-linux-gnu"
    """The processor and the system of the code, in LLVM's words."""
    core: Core = TWO_UNITS
    """The core that choices are made for; "host" looks at the one at hand."""
    costs: CostModel = CostModel()
    """What choices of plans compare with."""

    @property
    def architecture(self) -> str:
        """The family of processors, as the system calls it: x86_64, aarch64 ..."""
        return self.triple.partition("-")[0]

    @property
    def l2_room(self) -> float:
        """The bytes of operands that stay in the second-level cache, beside what else is in it."""
        return self.costs.tiles.l2_share * self.core.l2_bytes

    @property
    def widens_float16(self) -> bool:
        """Whether there is an instruction that makes float32 of float16."""
        return not self.features.isdisjoint({"f16c", "asimd"})

    @property
    def byte_lanes(self) -> int:
        """Elements of vectors of bytes that become int32, or that int32 become. On Arm they are
        int16 on the way, where twice as many take no longer.
        """
        return 2 * self.lanes if self.by_element else self.lanes

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

        Raises Unsupported when there is no such target, or none for this machine.
        """
        if name == "host":
            here = cpu.features()
            fitting = (target for target in TARGETS if target.features <= here)
            usable = (t for t in fitting if not t.tiles or (tiles and cpu.allow_tiles()))
            widest = next(usable, None)
            if widest is None:
                nearest = ", ".join(target.name for target in TARGETS)
                raise Unsupported(f"code for this machine, {cpu.machine()},", nearest=nearest)
            return replace(widest, core=Core.here(widest))
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

NEON = Target(
    "neon",
    "generic",
    cpu.TARGETS["neon"],
    lanes=4,
    registers=32,
    fma=True,
    instructions="+reserve-x18",
    # Tiles take all registers. In LLVM's order for no core in particular, some of the sums spill.
    tuning="neoverse-v2",
    dot_signed=True,
    by_element=True,
    # Four parts: with three, LLVM takes Android's name for another system. Code for Android is
    # code for Linux, but for a register that Android reserves.
    triple="aarch64-unknown-linux-android21",
    core=CORTEX_A76,
    # Multiply-adds take lanes of vectors that were loaded whole, not elements from memory.
    costs=CostModel(reductions=Reductions(most_blocks_in_place=0)),
)
NEON_DOT = replace(
    NEON,
    name="neondot",
    features=cpu.TARGETS["neondot"],
    instructions="+reserve-x18,+dotprod",
    dot=True,
)
NEON_I8MM = replace(
    NEON_DOT,
    name="neoni8mm",
    features=cpu.TARGETS["neoni8mm"],
    instructions="+reserve-x18,+dotprod,+i8mm",
    matrix_bytes=True,
)

RVV = Target(
    "rvv",
    "generic-rv64",
    cpu.TARGETS["rvv"],
    lanes=4,  # of the shortest vectors that the standard allows
    registers=32,
    fma=True,
    # Without relaxation, by which linkers shorten code, distances are known before they run.
    instructions="+m,+a,+f,+d,+c,+v,+zihintpause,-relax",
    triple="riscv64-unknown-linux-gnu",
    core=CORTEX_A55,
)
"""RISC-V with vectors. Multiply-adds take one factor from a register of a scalar. The core is a
guess."""

TARGETS = (AMX, AVX512_VNNI, AVX512, AVX2, BASELINE, NEON_I8MM, NEON_DOT, NEON, RVV)
"""Widest first, those of one architecture one behind the other."""
