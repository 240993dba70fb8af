"""Index notation for `linalg.generic`: a layer's lowering reads like the formula it is.

    x = b.pad(x, (0, 1, 1), (0, 1, 1))
    o, y, z, i, ky, kx = b.loops("o y:28 z:28 i ky kx")
    out = b.sum((o, y, z), over=(i, ky, kx), of=x[i, y * 2 + ky, z * 2 + kx] * w[o, i, ky, kx])

A loop has the extent of an axis that it indexes alone; if there is none, write `name:n`. Loops
belong to the next operation. Maps are linear and stay inside of a tensor: to read outside, use
`pad`; for a quotient or a remainder, split a loop and collapse the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    ArrayAttr,
    BytesAttr,
    DenseIntOrFPElementsAttr,
    TensorType,
    f32,
    i64,
)
from xdsl.dialects.linalg.ops import YieldOp as LinalgYieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineDimExpr, AffineExpr

from ncc.dialects import structured
from ncc.dialects.attributes import string
from ncc.dialects.body import BodyLoops, BodyWriter, dim_of, dims_of, reads_of
from ncc.dialects.element import as_stored, element_of, is_half, is_integer, is_unsigned, ui16
from ncc.dialects.operation import make
from ncc.dialects.scalar import (
    Gather,
    LoopIndex,
    Operand,
    Read,
    Scalar,
    bitcast,
    convert,
    flags_of,
    in_single,
    index,
    number_of_index,
    scalar,
)
from ncc.dialects.shapes import Shape
from ncc.dialects.size import is_equal, is_open
from ncc.dialects.structured import PARALLEL, REDUCTION, shape_of_tensor
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

Index: TypeAlias = AffineExpr | int
Indices: TypeAlias = Sequence[Index]

_OF_INTEGERS: dict[type[Operation], type[Operation]] = {
    arith.AddfOp: arith.AddiOp,
    arith.MulfOp: arith.MuliOp,
    arith.MaxnumfOp: arith.MaxSIOp,
    arith.MinnumfOp: arith.MinSIOp,
    arith.MaximumfOp: arith.MaxSIOp,
    arith.MinimumfOp: arith.MinSIOp,
}
"""The operation that reduces integers, by the one that reduces floats."""
_OF_UNSIGNED: dict[type[Operation], type[Operation]] = {
    arith.MaxSIOp: arith.MaxUIOp,
    arith.MinSIOp: arith.MinUIOp,
}
"""The operation that reduces integers without a sign, where it differs."""


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor value, indexed with loops: `x[i, y * 2 + ky]` is a scalar expression.

    A scalar (shape `()`) has a value of one element: `x[()]`; so is [1] read, which a fold of all
    is. If only the run knows how many rows
    there are, `shape` has the largest number, and `count` (one int64) is the real one; the rows
    after these are undefined.
    """

    value: SSAValue
    shape: Shape
    count: Tensor | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def element_type(self) -> Attribute:
        return element_of(self.value)

    def __getitem__(self, at: Index | Indices) -> Scalar:
        indices = at if isinstance(at, Sequence) else (at,)
        if not indices and self.shape == (1,):
            indices = (0,)
        if len(indices) != self.rank:
            raise IndexError(f"{len(indices)} indices into a tensor of shape {self.shape}")
        exprs = tuple(AffineExpr.constant(i) if isinstance(i, int) else i for i in indices)
        if not self.shape:
            return Read(self.element_type, self.value, (1,), (AffineExpr.constant(0),))
        return Read(self.element_type, self.value, self.shape, exprs)

    def at(self, *indices: Scalar) -> Scalar:
        """Read at computed coordinates, which must be in bounds."""
        if len(indices) != self.rank:
            raise IndexError(f"{len(indices)} indices into a tensor of shape {self.shape}")
        return Gather(self.element_type, self.value, indices)


class Builder:
    """Writes linalg operations on tensors at the end of a block.

    `doc` (a layer's name) goes into every generic, for reports, and decides nothing. `threads` is
    how many threads will share the work: sequential code may be split for them, with the same
    results.
    """

    def __init__(self, block: Block, doc: str = "", threads: int = 1) -> None:
        self.block = block
        self.doc = doc
        self.threads = threads
        self._extents: list[int | None] = []

    # --- loops and linalg operations -------------------------------------------------------------

    def loops(self, names: str, **sizes: int) -> list[AffineExpr]:
        """`loops("o y:28 ky:3")`, or `loops("o y ky", y=28, ky=3)`: the loops of the next
        operation, in this order.
        """
        parts = [name.partition(":") for name in names.split()]
        self._extents = [
            sizes.get(name, int(extent) if extent else None) for name, _, extent in parts
        ]
        return [AffineDimExpr(i) for i in range(len(parts))]

    def loops_of(self, shape: Sequence[int]) -> list[AffineExpr]:
        """One loop for each axis of `shape`."""
        self._extents = list(shape)
        return [AffineDimExpr(i) for i in range(len(shape))]

    def loops_around(
        self, shape: Sequence[int], region: Sequence[int]
    ) -> tuple[list[AffineExpr], list[AffineExpr], list[AffineExpr]]:
        """The loops of a shape, those outside of some axes, and those along these axes."""
        at = self.loops_of(shape)
        outside = [loop for axis, loop in enumerate(at) if axis not in region]
        return at, outside, [at[axis] for axis in region]

    def map(self, to: Indices, of: Operand, *, into: Tensor | None = None) -> Tensor:
        """out[to] = of. Elements of `into` that `to` does not reach stay (for strided results)."""
        return self._compute(to, (), scalar(of), None, into)

    def scaled(self, x: Tensor, factor: Operand) -> Tensor:
        """x times a number."""
        at = self.loops_of(x.shape)
        return self.map(at, x[at] * factor)

    def sum(self, to: Indices, over: Indices, of: Scalar, init: Tensor | float = 0.0) -> Tensor:
        """out[to] = init + the sum over `over`."""
        return self._compute(to, over, of, arith.AddfOp, init)

    def max(
        self,
        to: Indices,
        over: Indices,
        of: Scalar,
        init: Tensor | float = float("-inf"),
        nan: bool = False,
    ) -> Tensor:
        """out[to] = the largest of init and the values. nan: whether NaN is larger."""
        return self._compute(to, over, of, arith.MaximumfOp if nan else arith.MaxnumfOp, init)

    def min(
        self,
        to: Indices,
        over: Indices,
        of: Scalar,
        init: Tensor | float = float("inf"),
        nan: bool = False,
    ) -> Tensor:
        """out[to] = the smallest of init and the values. nan: whether NaN is smaller."""
        return self._compute(to, over, of, arith.MinimumfOp if nan else arith.MinnumfOp, init)

    def product(self, to: Indices, over: Indices, of: Scalar, init: Tensor | float = 1.0) -> Tensor:
        """out[to] = init times the product over `over`."""
        return self._compute(to, over, of, arith.MulfOp, init)

    def index(self, loop: AffineExpr) -> Scalar:
        """The value of a loop, as an index for `Tensor.at`."""
        return LoopIndex(index, loop)

    def _compute(
        self,
        to: Indices,
        over: Indices,
        of: Scalar,
        combine: type[Operation] | None,
        init: Tensor | float | None,
    ) -> Tensor:
        if combine is not None and is_half(of.type):
            return self._compute_in_single(to, over, of, combine, init)
        target = [AffineExpr.constant(i) if isinstance(i, int) else i for i in to]
        extents = list(self._extents)
        if isinstance(init, Tensor) and isinstance(init.value.owner, ConstantOp):
            init = self.map(loops := self.loops_of(init.shape), init[loops])
        if not target:  # a scalar is a vector of one element, so that every result has an axis
            target = [AffineDimExpr(len(extents))]
            extents.append(1)
        reads, reduced = reads_of(of), {dim_of(loop) for loop in over}
        used = {d for e in target for d in e.used_dims()} | dims_of(of) | reduced
        loops_used = BodyLoops.of(sorted(used), extents, reads, target, self.doc)
        if combine is not None and is_integer(of.type):
            combine = _OF_INTEGERS[combine]
            combine = _OF_UNSIGNED.get(combine, combine) if is_unsigned(of.type) else combine
        outs = self._outs(target, loops_used.sizes, combine, init, of.type)
        inputs = [r.tensor for r in reads]
        maps = [loops_used.map(r.at) for r in reads]
        if loops_used.hidden:
            inputs.append(self.empty([loops_used.sizes[d] for d in loops_used.hidden]).value)
            maps.append(loops_used.map([AffineDimExpr(d) for d in loops_used.hidden]))
        maps.append(loops_used.map(target))
        body = Block(arg_types=[*(element_of(v) for v in inputs), outs.element_type])
        writer = BodyWriter(body, reads, loops_used.position)
        result = writer.write(of)
        if combine is not None:
            result = writer.add(combine, [body.args[-1], result], flags_of(combine), of.type)
        body.add_op(make(LinalgYieldOp, operands=[result]))
        kinds = [REDUCTION if d in reduced else PARALLEL for d in loops_used.position]
        doc = string(self.doc) if self.doc else None
        op = structured.generic(
            inputs, outs.value, ArrayAttr(maps), ArrayAttr(kinds), Region(body), doc
        )
        return self._add(op)

    def _compute_in_single(
        self,
        to: Indices,
        over: Indices,
        of: Scalar,
        combine: type[Operation],
        init: Tensor | float | None,
    ) -> Tensor:
        """The same of half precision: a result in float32 is rounded once, and so are no products
        that it sums.
        """
        extents = self._extents
        if isinstance(init, Tensor):
            at = self.loops_of(init.shape)
            init = self.map(at, in_single(init[at]))
        self._extents = extents
        single = self._compute(to, over, in_single(of), combine, init)
        at = self.loops_of(single.shape)
        return self.map(at, convert(single[at], of.type))

    def _outs(
        self,
        target: Sequence[AffineExpr],
        sizes: dict[int, int],
        combine: type[Operation] | None,
        init: Tensor | float | None,
        element_type: Attribute,
    ) -> Tensor:
        if isinstance(init, Tensor):
            for loop, extent in zip(target, init.shape, strict=True):
                if isinstance(loop, AffineDimExpr) and not is_equal(sizes[loop.position], extent):
                    raise ValueError(f"a loop over {sizes[loop.position]} fills {extent} elements")
            return init
        if not all(isinstance(e, AffineDimExpr) for e in target):
            raise ValueError("a result at strided places needs a tensor to write into")
        empty = self.empty([sizes[dim_of(e)] for e in target], element_type)
        return empty if combine is None or init is None else self.fill(empty, init)

    # --- constants --------------------------------------------------------------------------

    def weight(self, weight: WeightAttr) -> Tensor:
        """The values of a weight."""
        return self._add(ConstantOp.of(weight))

    def values(self, of: WeightAttr | Tensor) -> Tensor:
        """The same of what may be a tensor already."""
        return of if isinstance(of, Tensor) else self.weight(of)

    def table(self, array: NDArray[np.floating] | NDArray[np.integer]) -> Tensor:
        """A constant that the lowering computed: float32, or index for integer arrays."""
        if np.issubdtype(array.dtype, np.floating):
            return self.weight(WeightAttr.of(array))
        kind = TensorType(index, list(array.shape))
        data = BytesAttr(np.ascontiguousarray(array, np.int64).tobytes())
        value = DenseIntOrFPElementsAttr(kind, data)
        op = make(arith.ConstantOp, properties={"value": value}, result_types=[kind])
        return self._add(op)

    def constant(self, values: NDArray[Any], element_type: Attribute) -> Tensor:
        """A constant of any element type: an array of numbers; uint16 are bits of bfloat16."""
        array = as_stored(values, element_type)
        if element_type != ui16:
            return self.weight(WeightAttr.typed(array))
        held = self.weight(WeightAttr.typed(array.view(np.int16)))
        at = self.loops_of(held.shape)
        return self.map(at, bitcast(held[at], ui16))

    def numbers(self, count: int, element_type: Attribute = i64) -> Tensor:
        """0, 1, 2, ... as a constant, or computed where only the run knows the count. Vectors of it
        are read, whereas `index` gives a scalar.
        """
        if is_open(count):
            (k,) = self.loops_of((count,))
            return self.map((k,), number_of_index(self.index(k), element_type))
        return self.constant(np.arange(count), element_type)

    def empty(self, shape: Sequence[int], element_type: Attribute = f32) -> Tensor:
        """A tensor whose contents are not read."""
        return self._add(structured.empty(shape, element_type))

    def fill(self, into: Tensor, value: float) -> Tensor:
        """A tensor of one value."""
        number = structured.constant(value, into.element_type)
        self.block.add_op(number)
        return self._add(structured.fill(number.result, into.value))

    def full(self, shape: Sequence[int], value: float, element_type: Attribute = f32) -> Tensor:
        """A tensor of `shape` and one value."""
        return self.fill(self.empty(shape, element_type), value)

    def spread(self, x: Tensor, shape: Sequence[int], axis: int) -> Tensor:
        """The vector x along one axis, repeated along the others."""
        loops = self.loops_of(shape)
        return self.map(loops, x[loops[axis]])

    def code(self, op: Operation) -> list[Tensor]:
        """The results of a linalg operation that is written as loops (an `rt.code`)."""
        if self.doc:
            op.attributes["doc"] = string(self.doc)
        self.block.add_op(op)
        return list(map(_result, op.results))

    def counted_code(self, op: Operation, count: int = 1) -> list[Tensor]:
        """The same for `count` results that are rows: behind each is the real number of them."""
        made = self.code(op)[: 2 * count]
        return [
            Tensor(rows.value, rows.shape, count)
            for rows, count in zip(made[::2], made[1::2], strict=True)
        ]

    # --- views ------------------------------------------------------------------------------

    def pad(self, x: Tensor, low: Sequence[int], high: Sequence[int], value: float = 0.0) -> Tensor:
        """x with `low` elements before and `high` after each axis; x itself when all are zero."""
        if all(n == 0 for n in (*low, *high)):
            return x
        return self._add(structured.pad(x.value, low, high, value))

    def collapse(self, x: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
        """Each group of neighbouring axes becomes one axis."""
        if all(len(group) == 1 for group in groups):
            return x
        return self._add(structured.collapse(x.value, groups))

    def expand(self, x: Tensor, groups: Sequence[Sequence[int]], shape: Sequence[int]) -> Tensor:
        """Axis k becomes the axes groups[k] of the result, whose shape is `shape`."""
        if all(len(group) == 1 for group in groups):
            return x
        return self._add(structured.expand(x.value, groups, shape))

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """The same elements in the same order under another shape."""
        if tuple(shape) == x.shape:
            return x
        if not is_equal(prod(shape), prod(x.shape)):
            raise ValueError(f"{x.shape} has not as many elements as {tuple(shape)}")
        if not shape:
            return Tensor(self.reshape(x, (1,)).value, ())
        if not x.shape:
            return self.reshape(Tensor(x.value, (1,)), shape)
        flat = self.named(self.collapse(x, [list(range(x.rank))]), [prod(shape)])
        return self.expand(flat, [list(range(len(shape)))], shape)

    def slice(self, x: Tensor, begin: Sequence[int], size: Sequence[int]) -> Tensor:
        """The box of `size` that starts at `begin`."""
        if tuple(size) == x.shape:
            return x
        return self._add(structured.extract_slice(x.value, begin, size))

    def named(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """x, of which the extents are assumed to be those of a shape, under these expressions."""
        return self.slice(x, [0] * x.rank, shape)

    def cut(self, x: Tensor, axis: int, begin: int, end: int) -> Tensor:
        """The elements [begin, end) of x along an axis."""
        offsets, sizes = [0] * x.rank, list(x.shape)
        offsets[axis], sizes[axis] = begin, end - begin
        return self.slice(x, offsets, sizes)

    def concat(self, xs: Sequence[Tensor], axis: int, extent: int | None = None) -> Tensor:
        """The concatenation of tensors along an axis. extent: of the result, if not the sum."""
        if len(xs) == 1:
            return xs[0]
        return self._add(structured.concat([x.value for x in xs], axis, extent))

    def _add(self, op: Operation) -> Tensor:
        self.block.add_op(op)
        return _result(op.results[0])


def _result(value: SSAValue) -> Tensor:
    return Tensor(value, shape_of_tensor(value))
