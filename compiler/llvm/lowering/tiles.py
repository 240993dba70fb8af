"""The tile dialect in the llvm dialect: Intel's AMX instructions on numbered tiles.

tile.configure 14        64 bytes on the stack with the shapes; ldtilecfg
tile.load 4 from %x[%i]  tileloadd
tile.multiply 0, 4, 6    tdpbf16ps
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IntegerAttr, VectorType, i8, i64
from xdsl.ir import Operation, SSAValue

from ncc.compiler.llvm.llvm_builder import POINTER
from ncc.compiler.llvm.lowering.function import Function, Handler
from ncc.compiler.llvm.lowering.memory import store
from ncc.dialects import tile

_PALETTE = 1
_COLUMNS_AT, _ROWS_AT, _CONFIGURATION = 16, 48, 64
"""Offsets in the configuration of two bytes of columns and one of rows for each tile; its size."""


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
    shapes = VectorType(i64, [_CONFIGURATION // 8])
    taken = llvm.AllocaOp.create(
        operands=[one.results[0]],
        result_types=[POINTER],
        properties={"alignment": IntegerAttr(_CONFIGURATION, i64), "elem_type": shapes},
    )
    builder.emit_first([one, taken])
    held = configuration(op.rows.value.data)
    words = [int.from_bytes(held[at : at + 8], "little") for at in range(0, len(held), 8)]
    store(builder, builder.vector_of(words, shapes), taken.results[0])
    builder.run_intrinsic("llvm.x86.ldtilecfg", [taken.results[0]])


def lower_release(function: Function, op: tile.ReleaseOp) -> None:
    """Release all tiles."""
    function.builder.run_intrinsic("llvm.x86.tilerelease", [])


def lower_zero(function: Function, op: tile.ZeroOp) -> None:
    """A tile of zeros."""
    function.builder.run_intrinsic("llvm.x86.tilezero", [_tile(function, op.tile)])


def _moved(name: str) -> Handler:
    def handle(function: Function, op: tile.LoadOp | tile.StoreOp) -> None:
        pointer = function.addresses.pointer(function.memory(op.memref), [function.index(op.index)])
        distance = function.builder.constant(op.distance.value.data, i64)
        function.builder.run_intrinsic(name, [_tile(function, op.tile), pointer, distance])

    return handle


def lower_multiply(function: Function, op: tile.MultiplyOp) -> None:
    """Products of pairs of bfloat16, added to a tile of float32."""
    tiles = [_tile(function, number) for number in (op.sums, op.left, op.right)]
    function.builder.run_intrinsic("llvm.x86.tdpbf16ps", tiles)


def _tile(function: Function, number: IntegerAttr) -> SSAValue:
    return function.builder.constant(number.value.data, i8)


HANDLERS: dict[type[Operation], Handler] = {
    tile.ConfigureOp: lower_configure,
    tile.ReleaseOp: lower_release,
    tile.ZeroOp: lower_zero,
    tile.LoadOp: _moved("llvm.x86.tileloadd64"),
    tile.StoreOp: _moved("llvm.x86.tilestored64"),
    tile.MultiplyOp: lower_multiply,
}
