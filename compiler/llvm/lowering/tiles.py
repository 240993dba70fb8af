"""The tile dialect in the llvm dialect: Intel's AMX instructions on numbered tiles.

tile.configure %rows     64 bytes on the stack with the shapes; ldtilecfg
tile.load 4 from %x[%i]  tileloadd
tile.multiply 0, 4, 6    tdpbf16ps
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, VectorType, i8, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.llvm.llvm_builder import POINTER
from ncc.compiler.llvm.lowering.function import Function, Handler
from ncc.compiler.llvm.lowering.memory import address, store
from ncc.dialects import tile
from ncc.dialects.attributes import number_of

_PALETTE = 1
_COLUMNS_AT, _ROWS_AT, _CONFIGURATION = 16, 48, 64
"""Offsets in the configuration of two bytes of columns and one of rows for each tile; its size."""

_WORD = 8


def configuration(rows: int) -> bytes:
    """The memory that ldtilecfg reads."""
    held = bytearray(_CONFIGURATION)
    held[0] = _PALETTE
    for number in (*tile.SUMS, *tile.LEFT, *tile.RIGHT):
        held[_COLUMNS_AT + 2 * number] = tile.ROW_BYTES
        held[_ROWS_AT + number] = tile.ROWS if number in tile.RIGHT else rows
    return bytes(held)


def lower_configure(function: Function, op: tile.ConfigureOp) -> None:
    """Write the shapes on the stack, then load them into the processor."""
    builder = function.builder
    one = llvm.ConstantOp.create(result_types=[i64], properties={"value": IntegerAttr(1, i64)})
    shapes = VectorType(i64, [_CONFIGURATION // _WORD])
    taken = llvm.AllocaOp.create(
        operands=[one.results[0]],
        result_types=[POINTER],
        properties={"alignment": IntegerAttr(_CONFIGURATION, i64), "elem_type": shapes},
    )
    builder.emit_first([one, taken])
    without, with_one = (_words(configuration(rows)) for rows in (0, 1))
    a_row = [one - none for one, none in zip(with_one, without, strict=True)]
    rows = builder.splat(function.value(op.rows), shapes)
    words = builder.binary(llvm.MulOp, rows, builder.vector_of(a_row, shapes))
    words = builder.binary(llvm.AddOp, words, builder.vector_of(without, shapes))
    store(builder, words, taken.results[0])
    builder.run_intrinsic("llvm.x86.ldtilecfg", [taken.results[0]])


def _words(held: bytes) -> list[int]:
    return [int.from_bytes(held[at : at + _WORD], "little") for at in range(0, len(held), _WORD)]


def _instruction(name: str, *tiles: str) -> Handler:
    """An instruction on the tiles that these properties name."""

    def handle(function: Function, op: Operation) -> None:
        numbers = [_tile(function, op.properties[tile]) for tile in tiles]
        function.builder.run_intrinsic(name, numbers)

    return handle


def _moved(name: str) -> Handler:
    def handle(function: Function, op: tile.LoadOp | tile.StoreOp) -> None:
        pointer = address(function, op.memref, [op.index])
        distance = function.value(op.distance)
        function.builder.run_intrinsic(name, [_tile(function, op.tile), pointer, distance])

    return handle


def _tile(function: Function, number: Attribute) -> SSAValue:
    return function.builder.constant(number_of(number), i8)


HANDLERS: dict[type[Operation], Handler] = {
    tile.ConfigureOp: lower_configure,
    tile.ReleaseOp: _instruction("llvm.x86.tilerelease"),
    tile.ZeroOp: _instruction("llvm.x86.tilezero", "tile"),
    tile.LoadOp: _moved("llvm.x86.tileloadd64"),
    tile.StoreOp: _moved("llvm.x86.tilestored64"),
    tile.MultiplyOp: _instruction("llvm.x86.tdpbf16ps", "sums", "left", "right"),
}
