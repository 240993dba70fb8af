"""Pools that run chunk by chunk: reductions over windows whose rows do not overlap."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.convolutions.compute_in_strips import moves_by_rows, view_moves
from ncc.compiler.linalg.rewrite.parts import ROWS, is_image, part, span
from ncc.dialects.index_notation import Builder, Tensor


@dataclass(frozen=True)
class Pool:
    """A reduction over windows of an image, and its pointwise followers.

    rows: the rows of its result that a chunk of the image makes.
    """

    ops: tuple[GenericOp, ...]
    rows: int

    def of_chunk(self, b: Builder, image: Tensor, number: int) -> Tensor:
        """The pool of the chunk with that number."""
        for op in self.ops:
            channels, height, width = shape_of(op.results[0])

            def operand(
                access: TensorAccess, linalg_op: LinalgOp, image: Tensor = image
            ) -> SSAValue:
                return image.value if view_moves(access, linalg_op) else access.value

            shape = [channels, min(self.rows, height - number * self.rows), width]
            image = part(b, op, shape, operand)
        return image


def pool_of(image: SSAValue, covered: int, chunks: int) -> Pool | None:
    """The only reader of an image, if no window of it reads two chunks of `covered` rows."""
    op = reader_of(image)
    if chunks < 2 or op is None or not _goes_by_rows(op, image):
        return None
    linalg_op = LinalgOp(op)
    if not linalg_op.reduced or linalg_op.product is not None:
        return None
    (mine,) = (access for access in linalg_op.reads if access.value is image)
    step, reach = span(mine, linalg_op, ROWS, 1, 2)[0], span(mine, linalg_op, ROWS, 0, 1)[1]
    rows = covered // step
    every = (chunks - 1) * rows < shape_of(op.results[0])[ROWS] <= chunks * rows
    if reach > step or step * rows != covered or not every:
        return None
    ops = [op]
    while (next_op := reader_of(ops[-1].results[0])) is not None and LinalgOp(next_op).is_pointwise:
        if not _goes_by_rows(next_op, ops[-1].results[0]):
            return None
        ops.append(next_op)
    return Pool(tuple(ops), rows)


def _goes_by_rows(op: GenericOp, image: SSAValue) -> bool:
    """Whether rows of the result need rows of `image`, and other operands are read whole."""

    def moves(access: TensorAccess, linalg_op: LinalgOp) -> bool:
        mine = access.value is image
        return mine == view_moves(access, linalg_op) and moves_by_rows(access, linalg_op)

    return image in op.inputs and is_image(LinalgOp(op), moves)
