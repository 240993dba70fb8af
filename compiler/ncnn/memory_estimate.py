"""Estimates the memory that ncnn needs for the blobs of a network, and for its weights.

Layers run in file order, each result is fp32 in memory of its own, and a blob is freed behind its
last reader; outputs stay. What only hands elements on (Split, Noop, views of a vector) takes no
memory. Work space inside layers is not counted, so that the number is below what a run takes.
"""

from __future__ import annotations

from collections import Counter
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.dialects.ncnn.layer import Layer, WeightAttr, shape_of
from ncc.dialects.ncnn.movement.reshape import View
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import MemoryDataOp, NoopOp, SplitOp


def blob_bytes(module: ModuleOp) -> int | None:
    """The most bytes that blobs take at a time; None where a shape is not known."""
    network = Network.of(module)
    layers = network.layers
    if any(_size(result) is None for op in layers for result in op.results):
        return None
    roots: dict[SSAValue, SSAValue] = {}
    for op in layers:
        shares = isinstance(op, SplitOp | NoopOp | View)
        for k, result in enumerate(op.results):
            source = op.operands[min(k, len(op.operands) - 1)] if shares else result
            roots[result] = roots.get(source, source)
    left = Counter(roots[value] for op in layers for value in op.operands)
    left.update(roots[value] for value in network.terminator.operands)
    held = most = 0
    for op in layers:
        if isinstance(op, MemoryDataOp):
            continue
        made = [result for result in op.results if roots[result] is result]
        held += sum(_size(result) or 0 for result in made)
        most = max(most, held)
        for root in map(roots.__getitem__, op.operands):
            left[root] -= 1
            if not left[root] and not isinstance(root.owner, MemoryDataOp):
                held -= _size(root) or 0
    return most


def weight_bytes(module: ModuleOp) -> int:
    """The bytes of all weights, in the types that they are computed with."""
    return sum(
        prod(held.shape) * held.data.dtype.itemsize
        for op in Network.of(module).layers
        for held in op.properties.values()
        if isinstance(held, WeightAttr)
    )


def _size(value: SSAValue) -> int | None:
    """The bytes of a blob; the rows of a detection, which only the run knows, count as none."""
    shape = shape_of(value)
    if shape is None or not isinstance(value.owner, Layer):
        return None
    return 4 * prod(max(extent, 0) for extent in shape)
