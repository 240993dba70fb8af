"""The `tile` dialect: registers of 16 rows of 64 bytes, and products of bfloat16 on them.

    tile.configure %rows
    tile.zero 0
    tile.load 4 from %x[%i] by %far : memref<4096xbf16>
    tile.load 6 from %w[%j] by %near : memref<8192xbf16>
    tile.multiply 0 with 4 and 6
    tile.store 0 to %sums[%k] by %near : memref<1024xf32>
    tile.release

Tiles have the numbers of the hardware, and their contents are no SSA values: operations on them
keep their order. The distance of rows is `by` bytes.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, i64
from xdsl.ir import Dialect, SSAValue
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

I64Attr = IntegerAttr.constr(type=i64)

ROWS, ROW_BYTES = 16, 64
"""The largest tile."""

TILE_K = ROW_BYTES // 2
"""bfloat16 numbers of a row, over which one product sums."""

SUMS, LEFT, RIGHT = range(4), range(4, 6), range(6, 8)
"""The tiles for sums, for left operands and for right operands of products."""


def _number(value: int) -> IntegerAttr:
    return IntegerAttr(value, i64)


@irdl_op_definition
class ConfigureOp(IRDLOperation):
    """Set the shapes of all tiles, and clear them: sums and left operands have `rows` rows, 1 to
    `ROWS`.
    """

    name = "tile.configure"

    rows = operand_def(IndexType())

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$rows attr-dict"

    def __init__(self, rows: SSAValue) -> None:
        super().__init__(operands=[rows])


@irdl_op_definition
class ReleaseOp(IRDLOperation):
    """Release the tiles, so that the system need not save them when it switches threads."""

    name = "tile.release"

    assembly_format = "attr-dict"


@irdl_op_definition
class ZeroOp(IRDLOperation):
    """Clear one tile."""

    name = "tile.zero"

    tile = prop_def(I64Attr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$tile attr-dict"

    def __init__(self, tile: int) -> None:
        super().__init__(properties={"tile": _number(tile)})


class _MoveOp(IRDLOperation):
    """One tile, and the memory of its rows, whose distance is `distance` bytes."""

    tile = prop_def(I64Attr)
    memref = operand_def(MemRefType)
    index = operand_def(IndexType())
    distance = operand_def(IndexType())

    irdl_options = (ParsePropInAttrDict(),)

    def __init__(self, tile: int, memref: SSAValue, index: SSAValue, distance: SSAValue) -> None:
        super().__init__(operands=[memref, index, distance], properties={"tile": _number(tile)})


@irdl_op_definition
class LoadOp(_MoveOp):
    """Load one tile from memory, row by row."""

    name = "tile.load"

    assembly_format = (
        "$tile `from` $memref `[` $index `]` `by` $distance attr-dict `:` type($memref)"
    )


@irdl_op_definition
class StoreOp(_MoveOp):
    """Store one tile to memory, row by row."""

    name = "tile.store"

    assembly_format = "$tile `to` $memref `[` $index `]` `by` $distance attr-dict `:` type($memref)"


@irdl_op_definition
class MultiplyOp(IRDLOperation):
    """sums[m, n] += the sum over k and q < 2 of left[m, 2k + q] * right[k, 2n + q].

    Sums are of float32, the operands of bfloat16. Denormal numbers count as zeros, in the operands
    and in the sums.
    """

    name = "tile.multiply"

    sums = prop_def(I64Attr)
    left = prop_def(I64Attr)
    right = prop_def(I64Attr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$sums `with` $left `and` $right attr-dict"

    def __init__(self, sums: int, left: int, right: int) -> None:
        numbers = {"sums": sums, "left": left, "right": right}
        super().__init__(properties={name: _number(tile) for name, tile in numbers.items()})

    def verify_(self) -> None:
        used = [(self.sums, SUMS), (self.left, LEFT), (self.right, RIGHT)]
        if any(tile.value.data not in room for tile, room in used):
            raise VerifyException("tile.multiply: tiles 0 to 3 hold sums, 4 and 5 left operands")


TILE = Dialect("tile", [ConfigureOp, ReleaseOp, ZeroOp, LoadOp, StoreOp, MultiplyOp])
