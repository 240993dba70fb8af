"""Layers that read rows of which only the run knows the number, and make a row of each.

    %y = ncnn.BinaryOp(%rows, %v) : (tensor<?x6xf32>, tensor<6xf32>) -> tensor<?x6xf32>

The layer need not know: its lowering for the most rows that there can be tells, by how it walks
them (`dialects/row_wise.py`). But a layer may take one extent for another, as this one takes six
elements for a column of six rows where there are six; its reference tells that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from xdsl.ir import Operation

from ncc.dialects.element import dtype_of
from ncc.dialects.index_notation import Tensor
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.row_wise import are_row_wise, share_a_count
from ncc.dialects.size import hint, is_open


def is_row_wise(
    layer: Layer,
    expansion: Iterable[Operation],
    operands: Sequence[Tensor],
    results: Sequence[Tensor],
) -> bool:
    """Whether row k of each result is made of row k of the operands that have a count.

    lowering: the operations that make the results of the operands, in order.
    """
    if not share_a_count(operands) or not are_row_wise(expansion, operands, results):
        return False
    return all(_is_row_wise_of(rows, layer, operands) for rows in _coincidences(operands))


def _coincidences(operands: Sequence[Tensor]) -> list[int]:
    """Numbers of rows that are an extent of something else as well. An open extent may be any of
    them: its hint stands for all.
    """
    most = max(hint(x.shape[0]) for x in operands if x.count is not None)
    others = {extent for x in operands if x.count is None for extent in x.shape}
    return sorted({hint(n) for n in others if is_open(n) or 1 < n <= most})


def _is_row_wise_of(rows: int, layer: Layer, operands: Sequence[Tensor]) -> bool:
    """Whether the layer makes the same of so many rows as of the first ones of one more."""
    rng = np.random.default_rng(rows)
    less, more = [], []
    for x in operands:
        shape = [hint(n) for n in x.shape]
        if x.count is not None:
            shape[0] = rows + 1
        array = rng.uniform(1, 2, shape).astype(dtype_of(x.element_type))
        more.append(array)
        less.append(array if x.count is None else array[:rows])
    for few, many in zip(layer.reference_all(less), layer.reference_all(more), strict=True):
        if few.shape != many[:rows].shape or not np.allclose(few, many[:rows]):
            return False
    return True
