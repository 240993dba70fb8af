"""The work of a step: its operations, and the memory that it must read and write.

Operations count as the kernel does them: the products of a Winograd convolution, and no padding
lanes. An operation on floats or integers counts as one, also a function of mathematics.
Comparisons, selects, conversions and arithmetic of indices are free. Each element that is read or
written counts once, however often it is read. Memory whose size only the run knows does not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import IndexType

from ncc.compiler.linalg.analysis.attributes import Matrix
from ncc.compiler.loops.build_network import Step
from ncc.compiler.loops.kernel.kernel import Access, Kernel, Stage
from ncc.compiler.loops.kernel.products import match_quads
from ncc.compiler.loops.kernel.transform_loops import TransformLoops
from ncc.compiler.loops.schedule.matrix_tiles import bf16_pairs_of
from ncc.compiler.plan import MOST_ELEMENTS, Buffer, Kind
from ncc.dialects.operation import ops_of
from ncc.dialects.size import hint

OPERATIONS = {
    **dict.fromkeys(("addf", "subf", "mulf", "divf", "negf"), 1),
    **dict.fromkeys(("maximumf", "minimumf", "maxnumf", "minnumf"), 1),
    **dict.fromkeys(("addi", "subi", "muli"), 1),
    "fma": 2,
}
"""The count of operations of arith and math; those that are missing count 1."""


class Work(NamedTuple):
    """flops: None if unknown. tile_flops, byte_flops: how many of them are products of matrix
    tiles, and dot products of bytes. weight_bytes: of constants; the other bytes are of values of
    the run.
    """

    flops: int | None
    tile_flops: int
    byte_flops: int
    weight_bytes: int
    read_bytes: int
    written_bytes: int

    @property
    def data_bytes(self) -> int:
        return self.read_bytes + self.written_bytes


def work_of(step: Step) -> Work:
    """The work of a step by all threads together.

    In a loop, weights count once. Values between the calls of an iteration do not count, since they
    stay in a cache.
    """
    if step.of_iteration:
        calls = [_work(call, step.own) for call in step.of_iteration]
        return Work(
            step.chunks * sum(work.flops or 0 for work in calls),
            step.chunks * sum(work.tile_flops for work in calls),
            step.chunks * sum(work.byte_flops for work in calls),
            sum(work.weight_bytes for work in calls),
            step.chunks * sum(work.read_bytes for work in calls),
            step.chunks * sum(work.written_bytes for work in calls),
        )
    return _work(step)


def _work(step: Step, without: Set[Buffer] = frozenset()) -> Work:
    """The work of one call. without: values whose memory does not count."""
    weights = reads = writes = 0
    kernels = step.kernels
    for argument, subview in enumerate(step.subviews):
        buffer = subview.buffer
        if buffer in without:
            continue
        found = [_elements(kernel, argument) for kernel in kernels]
        known = [elements for elements in found if elements is not None]
        read, written = map(sum, zip(*known, strict=True)) if known else (0, 0)
        if len(known) < len(found) or not found:
            elements = hint(buffer.elements)
            read, written = elements if elements < MOST_ELEMENTS else 0, 0
        if buffer.kind is Kind.CONSTANT:
            weights += read * buffer.element_bytes
        else:
            reads += read * buffer.element_bytes
            writes += written * buffer.element_bytes
    tiles = sum(_of_anchor(kernel) for kernel in kernels if bf16_pairs_of(kernel) is not None)
    quads = sum(_of_anchor(kernel) for kernel in kernels if _sums_quads(kernel))
    return Work(sum(map(flops, kernels)) if kernels else None, tiles, quads, weights, reads, writes)


def flops(kernel: Kernel) -> int:
    """The operations of a kernel."""
    stored = _points(kernel, kernel.parallel)
    count = stored * sum(map(_operations, kernel.epilogue))
    if isinstance(kernel.initial, Stage):
        count += stored * _operations(kernel.initial)
    if kernel.forms_weights:
        return count + _formed(kernel)
    if kernel.matrices is not None:
        return count + _transformed(kernel, prod(kernel.extents))
    return count + _of_anchor(kernel)


def _sums_quads(kernel: Kernel) -> bool:
    return any(not isinstance(match_quads(kernel, across), str) for across in (False, True))


def _of_anchor(kernel: Kernel) -> int:
    """The operations of the anchor at all points."""
    return _points(kernel, range(len(kernel.extents))) * _operations(kernel.anchor)


def _transformed(kernel: Kernel, points: int) -> int:
    """A multiply-add for each nonzero: for each column of the data, then each row of the result."""
    if kernel.matrices is None:
        return 0
    first, second = kernel.matrices
    windows = points // prod(len(matrix) * len(matrix[0]) for matrix in kernel.matrices)
    down, across = (_nonzeros(first) * len(second[0]), _nonzeros(second) * len(first))
    return windows * 2 * (down + across)


def _nonzeros(matrix: Matrix) -> int:
    """The entries of a matrix that take a multiply-add; a matrix that is a one takes none."""
    return sum(number != 0 for row in matrix for number in row) if matrix != ((1.0,),) else 0


def _formed(kernel: Kernel) -> int:
    """The products, and the transform of the weights, once."""
    loops = TransformLoops.of(kernel)
    taps = {loops.down, loops.across}
    window = {*taps, loops.row, loops.column}
    loops_of_weights = {d for d, _ in loops.data.moves} - window
    products = _points(kernel, {*range(len(kernel.extents))} - taps)
    weights = _points(kernel, loops_of_weights) * prod(kernel.extents[d] for d in window)
    return 2 * products + _transformed(kernel, weights)


def _operations(stage: Stage) -> int:
    """The operations of one evaluation of a body."""
    count = 0
    for op in ops_of(stage.body):
        if any(isinstance(result.type, IndexType) for result in op.results):
            continue
        dialect, _, name = op.name.partition(".")
        if dialect == "math":
            count += OPERATIONS.get(name, 1)
        elif dialect == "arith":
            count += OPERATIONS.get(name, 0)
    return count


def _points(kernel: Kernel, loops: Iterable[int]) -> int:
    """How often the body of these loops runs."""
    walked = set(loops)
    points = prod(kernel.extents[d] for d in walked)
    for outer, inner, true in kernel.valid_extents:
        if {outer, inner} <= walked:
            points = points * true // (kernel.extents[outer] * kernel.extents[inner])
    k_split = kernel.k_split
    if k_split is not None and {k_split.outputs, k_split.inputs} <= walked:
        blocks, times = kernel.extents[k_split.outputs], k_split.times
        points = points * ((blocks - 1) * times + 1) // (blocks * times)
    return points


def _elements(kernel: Kernel, argument: int) -> tuple[int, int] | None:
    """The elements of an argument that are read, and that are written; None if any may be."""
    if any(held.argument == argument for held in kernel.captured.values()):
        return None
    stores = kernel.stores()
    read = [
        _reach(kernel, access)
        for access in kernel.accesses()
        if access not in stores and access.argument == argument
    ]
    if kernel.bf16_split is not None and kernel.bf16_split.store.argument == argument:
        return 0, 2 * _reach(kernel, kernel.bf16_split.store)
    elements, stored = max(read, default=0), 0
    if kernel.store.argument == argument:
        stored = _reach(kernel, kernel.store)
        elements += stored if kernel.initial is None else 0
    return elements, stored


def _reach(kernel: Kernel, access: Access) -> int:
    """The elements of an access, for the hint: at most its points, and those from first to last."""
    extents = list(map(hint, kernel.extents))
    coefficients = map(hint, access.coefficients)
    walked = [(e, abs(c)) for e, c in zip(extents, coefficients, strict=True) if c]
    elements = prod(e for e, _ in walked) * prod(extents[d] for d in access.table_loops)
    return min(elements, 1 + sum((e - 1) * c for e, c in walked) + hint(access.table_reach))
