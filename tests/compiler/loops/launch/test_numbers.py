"""Threads run one entry point on inputs of any size, by the numbers that the run tells."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import arith, builtin, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, f32
from xdsl.parser import Parser

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.launch.entry import write_loops, write_run
from ncc.compiler.loops.launch.numbers import WORD, Number, Table
from ncc.compiler.loops.launch.script import Argument, Barrier, Launch, LoopLaunch, Script, table_of
from ncc.compiler.plan import Part
from ncc.compiler.target import Target
from ncc.dialects.functions import module_of
from ncc.dialects.size import Size, tile_size
from ncc.runtime.artifact import ARENA_BUFFER, FIRST_BUFFER, NUMBERS_BUFFER, STATE_BUFFER
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.threads import Team, state_bytes
from tests.compiler.interleaved import Extents, at, laid_out

H, W = Size.symbol("h", 9), Size.symbol("w", 5)
THREADS = 3
PART = -(-8 * W // 64) * 64
"""The bytes of two rows that each thread has of its own."""
THREES, PAIRS = (H - 1) // 3, (H - 2) // 2
THREE, PAIR = tile_size(3, H - 3 * THREES), tile_size(2, H - 1 - 2 * PAIRS)
"""Rows of a tile, of which the last one may be smaller."""


def test_a_number_has_one_place() -> None:
    """Constants have none; rows of sizes stand side by side, each once."""
    table = Table()
    table.add([Number(H), Number(8), Number(8, 1), Number(H), Number(H, 1)])
    table.add_row((H, W))
    table.add_row((W, H))
    table.add_row((H, W))
    table.add([Number(W)])
    assert table.numbers == [
        Number(H), Number(8, 1), Number(H, 1), Number(H), Number(W), Number(W), Number(H), Number(W)
    ]  # fmt: skip
    assert (table.places[Number(H)], table.places[Number(W)]) == (0, 7)
    assert table.rows == {(H, W): 3, (W, H): 5}
    assert WORD == MemRefType(builtin.i64, [1]).element_type.size


def test_a_number_of_a_tile_has_two_places() -> None:
    """For full tiles, then for the last one; so have the sizes beside it."""
    table = Table()
    table.add([Number(2 * PAIR), Number(W)])
    table.add_row((W, PAIR))
    last = H - 1 - 2 * PAIRS
    assert table.numbers == list(map(Number, (4, 2 * last, W, W, 2, W, last)))
    assert (table.places[Number(2 * PAIR)], table.places[Number(W)]) == (0, 2)
    assert table.rows == {(W, PAIR): 3}


KERNEL = """
func.func private @{name}(%x: memref<?xf32>, %z: memref<?xf32>, %y: memref<?xf32>,
                          %sizes: memref<1xi64>, %first: index, %last: index) {{
  %none = arith.constant 0 : index
  %one = arith.constant 1 : index
  %some = arith.constant 1.0 : f32
  %told = memref.load %sizes[%none] : memref<1xi64>
  %width = arith.index_cast %told : i64 to index
  scf.for %row = %first to %last step %one {{
    %begin = arith.muli %row, %width : index
    scf.for %column = %none to %width step %one {{
      %at = arith.addi %begin, %column : index
      %a = memref.load %x[%at] : memref<?xf32>
      %b = memref.load %z[%at] : memref<?xf32>
      %c = arith.{operation} %a, %b : f32
      %d = arith.addf %c, %some : f32
      memref.store %d, %y[%at] : memref<?xf32>
    }}
  }}
  func.return
}}
"""
"""y = x + z + 1, or x * z + 1, in some rows."""


def row(buffer: int, part: int | None = None, offset: int = 0, **by: int) -> Argument:
    return Argument(buffer, offset, MemRefType(f32, [DYNAMIC_INDEX]), 4 * W, part=part, **by)


def launch(kernel: str, rows: int, *arguments: Argument, at_once: int = 1) -> Launch:
    return Launch(kernel, rows, arguments, sizes=(W,), at_once=at_once)


X, OUT = row(FIRST_BUFFER, by_iteration=12 * W), row(FIRST_BUFFER + 1)
A = row(ARENA_BUFFER, 0, by_iteration=12 * W)
B, C = (row(ARENA_BUFFER, part) for part in (2, 3))
OWN = row(ARENA_BUFFER, 1, by_thread=PART)
UPPER, LOWER, HERE = (
    row(ARENA_BUFFER, part, offset, by_iteration=8 * W)
    for part, offset in ((0, 0), (0, 4 * W), (2, 0))
)
SCRIPT: Script = (
    LoopLaunch(THREES + 1, (launch("add", THREE, X, X, A),)),
    Barrier(),
    LoopLaunch(
        PAIRS + 1,
        (
            launch("add", PAIR, UPPER, LOWER, OWN),
            Launch("multiply", 1, (OWN, OWN, HERE), sizes=(PAIR * W,)),
        ),
        "loop_0",
    ),
    Barrier(),
    LoopLaunch(
        W // 4,
        (Barrier(), launch("add", H - 1, B, B, C), Barrier(), launch("add", H - 1, C, C, B)),
    ),
    Barrier(),
    launch("add", H - 1, B, B, OUT, at_once=-(-H // THREADS)),
)
ARENA = (
    Part(4 * H * W, 0, 1),
    Part(THREADS * PART, 1, 1),
    Part(4 * H * W, 1, 3),
    Part(4 * H * W, 2, 3),
)


def expected(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the script computes."""
    a = x + x + 1
    own = a[:-1] + a[1:] + 1
    found: NDArray[np.float32] = own * own + 1
    for _ in range(2 * (x.shape[1] // 4) + 1):
        found = found + found + 1
    return found


@pytest.fixture(scope="module")
def code() -> MachineCode:
    """The script and its kernels."""
    target = Target.of("host")
    context = Context()
    for dialect in (builtin.Builtin, func.Func, arith.Arith, memref.MemRef, scf.Scf):
        context.load_dialect(dialect)
    kernels = "".join(
        KERNEL.format(name=name, operation=operation)
        for name, operation in (("add", "addf"), ("multiply", "mulf"))
    )
    functions = [op for op in Parser(context, kernels).parse_module().ops]
    for function in functions:
        function.detach()
    module = module_of([*functions, *write_loops(SCRIPT), write_run(SCRIPT)])
    module.verify()
    text = emit_llvm(lower(module, target), target, threads_text(target, declare_run=False))
    return MachineCode([emit_object(text, target)])


class Session:
    """Runs of the script by so many threads."""

    def __init__(self, code: MachineCode, threads: int) -> None:
        self.state = Memory(state_bytes(threads))
        self.buffers = (ctypes.c_void_p * (FIRST_BUFFER + 2))()
        self.buffers[STATE_BUFFER] = self.state.address
        self.numbers: dict[tuple[int, int], Any] = {}
        self.ends: dict[tuple[int, int], int] = {}
        count = len(table_of(SCRIPT).numbers)
        self.team = Team(code, threads, self.state, len(self.buffers), count)

    def run(self, x: NDArray[np.float32], draw: random.Random) -> NDArray[np.float32]:
        """One run; the arena holds nothing at first."""
        h, w = x.shape
        if (h, w) not in self.numbers:
            extents = {"h": h, "w": w}
            begins, self.ends[h, w] = laid_out(ARENA, extents, draw)
            words = [*self._told(extents, begins)]
            self.numbers[h, w] = (ctypes.c_int64 * len(words))(*words)
        arena = np.full(self.ends[h, w] // 4 + 16, np.nan, np.float32)
        out = np.full((h - 1, w), np.nan, np.float32)
        held = (ARENA_BUFFER, arena), (FIRST_BUFFER, x), (FIRST_BUFFER + 1, out)
        for number, array in held:
            self.buffers[number] = array.ctypes.data
        self.buffers[NUMBERS_BUFFER] = ctypes.addressof(self.numbers[h, w])
        self.team.run(ctypes.addressof(self.buffers))
        return out

    @staticmethod
    def _told(extents: Extents, begins: list[int]) -> Iterator[int]:
        for number in table_of(SCRIPT).numbers:
            yield at(number.value, extents) + (0 if number.part is None else begins[number.part])


@pytest.mark.parametrize("threads", range(1, THREADS + 1))
def test_runs_of_many_sizes(code: MachineCode, threads: int) -> None:
    """One after another, on the same threads, some of which come late: also where loops have no
    iteration and launches no chunk.
    """
    draw = random.Random(threads)
    session = Session(code, threads)
    for _ in range(600):
        shape = draw.randint(1, 7), draw.choice([1, 3, 4, 7, 9, 16])
        x = np.random.default_rng(draw.randrange(1 << 30)).random(shape, np.float32)
        np.testing.assert_array_equal(session.run(x, draw), expected(x), str(shape))
    session.team.dissolve()
