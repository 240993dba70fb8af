"""Chains of computations in strips of rows, so that what they hand on stays in a cache.

    %e = conv1x1(%x)                       %e0 = conv1x1(rows 0 to 9 of %x)
    %d = depthwise(pad %e)           ->    %d0 = depthwise(pad %e0)
    %y = conv1x1(%d)                       %y0 = conv1x1(%d0)
                                           %n1 = conv1x1(rows 9 to 17 of %x)
                                           %e1 = concat (the last rows of %e0), %n1
                                           ...
                                           %y = concat %y0, %y1, ..

Each row is computed once: rows that the window of the next strip needs again are copied. Strips
are computations of their own that share kernels, and the memory plan gives them the same memory:
what a strip hands on is held once.

No kernel can hold two sums, so this pass cuts a chain of a pointwise convolution, the depthwise one
behind it and the next pointwise one, where they hand on more than fits a cache. A chain ends after
`MOST_COMPUTATIONS`: compile time grows with the number of computations. Kernels of strips that
differ in the extent of their outermost loop alone are one kernel (`linalg/memory/move_up.py` copies
the rows).

Needs: the linalg level before layouts and groups.  Breaks: nothing; results are equal bit by
bit as long as kernels sum in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import FillOp, GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value
from ncc.compiler.linalg.rewrite.insert import replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import (
    ROWS,
    inside_pad,
    is_image,
    loop_along,
    no_window_is_border,
    part,
    span,
)
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import hint, is_open
from ncc.dialects.structured import pad_sides

BETTER = 2 / 3
"""The part of that which strips keep to, as long as they need not be too many."""

MOST_STRIPS = 28
"""Strips of a chain: each is compiled and launched by itself, if by shared kernels. Threads wait
for one another in each, so that several take fewer and higher ones."""

MOST_COMPUTATIONS = 64
"""Computations of a chain: each is one of every strip, and compiled with what it hands on to."""

MOST_SHARES = 4
"""Threads for which a strip grows: beyond, they have enough barriers to share the rest."""


@dataclass(frozen=True)
class ComputeInStrips(ModulePass):
    """Cut chains with large values between their computations; see the head of this file."""

    name = "compute-in-strips"

    target: Target = AVX512
    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        shares = min(self.threads, MOST_SHARES)
        room = room_of(self.target)
        for chain in chains(network_of(op).body.block, self.target):
            rows = chain.strip_rows(room)
            if rows is not None:
                # Threads make strips higher; which chains are cut, and with it all bits, stays.
                higher = chain.strip_rows(room * shares, MOST_STRIPS // shares)
                _Rewrite(chain, higher or rows).run()


def room_of(target: Target) -> int:
    """The bytes of what one strip hands on, at the most."""
    return int(target.costs.strip_share * target.core.l2_bytes)


@dataclass
class Chain:
    """Computations that hand rows on, each to one reader; the last one is read by others.

    large: whether a value between them is, and is not just made and stored in one go.
    """

    computations: list[GenericOp]
    large: bool = False

    @property
    def last(self) -> GenericOp:
        return self.computations[-1]

    def pays(self, target: Target) -> bool:
        """Whether strips fit the cache, and weights are few enough to be read again for each."""
        light = max(map(_weights, self.computations)) <= target.costs.strip_weights
        return light and self.strip_rows(room_of(target)) is not None

    def strip_rows(self, room: int, most: int = MOST_STRIPS) -> int | None:
        """Rows of the last result in a strip, None where `most` hand on more bytes than `room`.

        The most that leave some of the room. Strips of equal height come first: they have the most
        kernels in common.
        """
        height = hint(shape_of(self.last.results[0])[ROWS])
        counts = range(2, min(most, height // 2) + 1)
        by_evenness = sorted(counts, key=lambda n: height % n != 0)
        bytes = {-(-height // n): self._bytes(self.last, -(-height // n)) for n in by_evenness}
        fitting = [rows for held in (BETTER * room, room) for rows in bytes if bytes[rows] <= held]
        return fitting[0] if fitting else None

    def _bytes(self, op: GenericOp, rows: int) -> int:
        """Bytes that are held while `rows` rows of op's result are computed."""
        total, linalg_op = 0, LinalgOp(op)
        for access in linalg_op.reads:
            source = _producer(access.value)
            if source in self.computations and isinstance(source, GenericOp):
                first, last = span(access, linalg_op, ROWS, 0, rows)
                if not linalg_op.is_pointwise:
                    total += hint(_memory(access.value, last - first))
                total += self._bytes(source, last - first)
        return total


def chains(block: Block, target: Target) -> Iterator[Chain]:
    """The chains of a block that hand on a value inside which does not stay in the target's cache.

    They are as long as their strips fit there.
    """
    large = int(target.costs.large_value * target.core.l2_bytes)
    ending_with: dict[Operation, Chain] = {}
    for op in block.ops:
        if not isinstance(op, GenericOp) or not _by_rows(op):
            continue
        mine = Chain([op])
        linalg_op = LinalgOp(op)
        for access in linalg_op.reads:
            source = _producer(access.value)
            chain = ending_with.get(source) if source is not None else None
            if chain is None or not view_moves(access, linalg_op):
                continue
            longer = Chain([*chain.computations, *mine.computations])
            if len(longer.computations) > MOST_COMPUTATIONS:
                continue
            kept = hint(_memory(access.value, shape_of(access.value)[ROWS])) >= large
            if linalg_op.is_pointwise or (kept and longer.pays(target)):
                mine.computations = longer.computations
                del ending_with[chain.last]
                mine.large = mine.large or chain.large or (kept and not linalg_op.is_pointwise)
        ending_with[op] = mine
    yield from (chain for chain in ending_with.values() if chain.large)


def view_moves(access: TensorAccess, linalg_op: LinalgOp) -> bool:
    """Whether the rows of an operand move with those of the result."""
    return access.uses(loop_along(linalg_op, ROWS))


def _by_rows(op: GenericOp) -> bool:
    """Whether each row of the result depends on a window of rows of the operands, and the number
    of rows is known: strips are not a loop.
    """
    return not is_open(*shape_of(op.results[0])) and is_image(LinalgOp(op), moves_by_rows)


def moves_by_rows(access: TensorAccess, linalg_op: LinalgOp) -> bool:
    """Whether rows of the result need rows of an operand, or all of one that stands still."""
    if not view_moves(access, linalg_op):
        return True
    if len(access.index) != 3 or is_constant(access.value):
        return False
    loop = loop_along(linalg_op, ROWS)
    if any(form.coefficient(loop) for k, form in enumerate(access.index) if k != ROWS):
        return False
    form = access.index[ROWS]
    if any(factor <= 0 for _, factor in form.terms):
        return False
    return no_window_is_border(access, linalg_op, ROWS)


def _producer(value: SSAValue) -> Operation | None:
    """The computation that makes a value for one reader alone, also through a pad of columns."""
    if not value.has_one_use():
        return None
    owner = value.owner
    if isinstance(owner, tensor.PadOp):
        return _producer(owner.source)
    return owner if isinstance(owner, Operation) else None


def _copies(pad: tensor.PadOp) -> bool:
    """Whether a pad copies for one reader what lies where the caller has it."""
    return isinstance(pad.source, BlockArgument) and pad.result.has_one_use()


def _memory(image: SSAValue, rows: int) -> int:
    """Bytes of so many rows of an image, whose channels are in blocks unless they are few."""
    channels, _, width = shape_of(image)
    if channels > BLOCK:
        channels = lanes_in(channels)
    return 4 * channels * rows * width


def _weights(op: GenericOp) -> int:
    return sum(4 * prod(shape_of(v)) for v in op.inputs if is_constant(v))


@dataclass
class _Held:
    """Rows [first, last) of a value that a strip has made."""

    first: int
    last: int
    rows: Tensor


@dataclass
class _Rewrite:
    """The rewriting of one chain into strips of so many rows of its last result."""

    chain: Chain
    rows: int
    builder: Builder = field(default_factory=lambda: Builder(Block()))
    held: dict[SSAValue, _Held] = field(default_factory=dict)

    def run(self) -> None:
        last = self.chain.last
        height = shape_of(last.results[0])[ROWS]
        strips = [
            self._compute(last, first, min(first + self.rows, height))
            for first in range(0, height, self.rows)
        ]
        replace_op(last, self.builder, self.builder.concat(strips, axis=ROWS))
        _erase(last)

    def _rows_of(self, value: SSAValue, first: int, last: int) -> Tensor:
        """Rows [first, last) of an operand."""
        owner = value.owner
        source = _producer(value)
        if isinstance(owner, tensor.PadOp) and (
            source in self.chain.computations or _copies(owner)
        ):
            return self._padded(owner, first, last)
        if source not in self.chain.computations:
            return self.builder.cut(tensor_of(value), ROWS, first, last)
        if not isinstance(owner, GenericOp):
            raise CompilerBug(f"{owner} is not computed by rows")
        before = self.held.get(value, _Held(0, 0, tensor_of(value)))
        new = max(first, before.last)
        parts = []
        if first < new:
            seen = self.builder.cut(before.rows, ROWS, first - before.first, new - before.first)
            parts = [seen]
        if new < last:  # a strip of the last row may need none but those of the strip before
            parts.append(self._compute(owner, new, last))
        rows = self.builder.concat(parts, axis=ROWS)
        self.held[value] = _Held(first, last, rows)
        return rows

    def _padded(self, pad: tensor.PadOp, first: int, last: int) -> Tensor:
        low, high = pad_sides(pad)
        height = shape_of(pad.source)[ROWS]
        begin, end, low[ROWS], high[ROWS] = inside_pad(first, last, low[ROWS], height)
        inner = self._rows_of(pad.source, begin, end)
        return self.builder.pad(inner, low, high, pad_value(pad))

    def _compute(self, op: GenericOp, first: int, last: int) -> Tensor:
        """Rows [first, last) of a computation, which is the same on fewer rows."""
        shape = list(shape_of(op.results[0]))
        shape[ROWS] = last - first

        def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
            if not view_moves(access, linalg_op):
                return access.value
            return self._rows_of(access.value, *span(access, linalg_op, ROWS, first, last)).value

        return part(self.builder, op, shape, operand)


def _erase(op: Operation) -> None:
    """Erase what nobody reads any more, and what was made for it alone."""
    if any(result.uses for result in op.results):
        return
    sources = [value.owner for value in op.operands]
    op.detach()
    op.erase()
    for source in sources:
        if isinstance(source, tensor.PadOp | FillOp | tensor.EmptyOp | GenericOp):
            if source.parent is not None:
                _erase(source)
