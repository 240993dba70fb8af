"""A `linalg.generic` as passes and schedulers see it: extents, kinds of loops, linear accesses.

A `LinalgOp` is cheap: make a new one after a rewrite, and never keep it across one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import NamedTuple

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, FloatAttr, IntegerAttr, TensorType
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import FillOp, GenericOp, IndexOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis import attributes
from ncc.compiler.linalg.analysis.affine_form import AffineForm, linear
from ncc.compiler.linalg.analysis.attributes import Matrix, ValidExtents
from ncc.dialects.attributes import extents_of
from ncc.dialects.element import is_integer
from ncc.dialects.fixed_point import held_by
from ncc.dialects.operation import operands_of, ops_of

_SUM = arith.AddfOp | arith.AddiOp


class _IterationSpace(NamedTuple):
    """The maps and iterator types of a generic, without its operands.

    shown: for each loop, the operand and the axis that have its extent.
    """

    forms: tuple[tuple[AffineForm, ...], ...]
    reduced: tuple[int, ...]
    parallel: tuple[int, ...]
    shown: tuple[tuple[int, int], ...]

    @staticmethod
    def of(op: GenericOp) -> _IterationSpace:
        """Cached by the maps: there are few of them, and they never change."""
        maps, kinds = op.properties["indexing_maps"], op.properties["iterator_types"]
        known: tuple[Attribute, _IterationSpace] | None = vars(maps).get("loops")
        if known is None or known[0] is not kinds:
            known = kinds, _IterationSpace._read(op.indexing_maps, op.iterator_types)
            vars(maps)["loops"] = known
        return known[1]

    @staticmethod
    def _read(
        maps: ArrayAttr[AffineMapAttr], iterators: ArrayAttr[IteratorTypeAttr]
    ) -> _IterationSpace:
        forms = tuple(tuple(linear(result) for result in map.data.results) for map in maps.data)
        kinds = [kind.data for kind in iterators.data]
        shown: dict[int, tuple[int, int]] = {}
        for operand, index in enumerate(forms):
            for axis, form in enumerate(index):
                if form.bare is not None:
                    shown[form.bare] = operand, axis
        if len(shown) != len(kinds):
            raise CompilerBug(f"a loop without extent in {maps}")
        return _IterationSpace(
            forms,
            tuple(d for d, kind in enumerate(kinds) if kind is IteratorType.REDUCTION),
            tuple(d for d, kind in enumerate(kinds) if kind is IteratorType.PARALLEL),
            tuple(shown[d] for d in range(len(kinds))),
        )


@dataclass(frozen=True)
class TensorAccess:
    """A tensor and the linear form of each of its indices."""

    value: SSAValue
    index: tuple[AffineForm, ...]

    def uses(self, loop: int) -> bool:
        return any(form.coefficient(loop) for form in self.index)

    def loops(self) -> set[int]:
        """All that it uses."""
        return {loop for form in self.index for loop, _ in form.terms}

    @property
    def axes(self) -> tuple[int, ...] | None:
        """The loops of its indices, if each index is one loop, and no two are the same."""
        loops = tuple(form.bare for form in self.index if form.bare is not None)
        return loops if len(set(loops)) == len(self.index) else None

    def begins_with(self, *loops: int) -> bool:
        """Whether its first indices are these loops, which occur in no other index."""
        first, rest = self.index[: len(loops)], self.index[len(loops) :]
        alone = not any(form.coefficient(loop) for form in rest for loop in loops)
        return alone and [form.bare for form in first] == list(loops)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense tensor."""
    return tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The static shape of a tensor value."""
    if not isinstance(value.type, TensorType):
        raise CompilerBug(f"{value.type} is no ranked tensor")
    return extents_of(value.type)


def outs_of(op: GenericOp) -> SSAValue:
    """The initial value of a generic, which it overwrites."""
    *_, outs = operands_of(op)
    return outs


def constant_number(value: SSAValue) -> float | None:
    """The number that a value is, if it is a constant."""
    constant = value.owner
    if isinstance(constant, arith.BitcastOp) and is_integer(constant.input.type):
        constant = constant.input.owner  # a number without a sign
    if isinstance(constant, arith.ConstantOp) and isinstance(
        constant.value, FloatAttr | IntegerAttr
    ):
        return constant.value.value.data
    return None


def filled_with(value: SSAValue) -> float | None:
    """The number that every element of a value is, if a fill made it."""
    return fill_number(value.owner) if isinstance(value.owner, FillOp) else None


def fill_number(op: FillOp) -> float:
    """The constant that a tensor is filled with."""
    number = constant_number(operands_of(op)[0])
    if number is None:
        raise CompilerBug("a fill whose value is no constant")
    return number


def uncast(value: SSAValue) -> SSAValue:
    """The value before exact conversions to a wider type."""
    while isinstance(value.owner, (arith.ExtSIOp, arith.ExtUIOp, arith.ExtFOp)):
        value = value.owner.operands[0]
    held = held_by(value)
    return value if held is None else held


def factors(total: Operation, accumulator: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """The a and b of acc + a * b, of floats or integers, exact conversions to wider types aside."""
    if not isinstance(total, (arith.AddfOp, arith.AddiOp)):
        return None
    others = [operand for operand in operands_of(total) if operand is not accumulator]
    factor = others[0].owner if len(others) == 1 else None
    if not isinstance(factor, arith.MulfOp if isinstance(total, arith.AddfOp) else arith.MuliOp):
        return None
    a, b = operands_of(factor)
    return uncast(a), uncast(b)


class LinalgOp:
    """The loops, accesses and body of one generic."""

    def __init__(self, op: GenericOp) -> None:
        self.op = op
        self._loops = loops = _IterationSpace.of(op)
        self.body: Block = op.regions[0].block
        self.reduced = loops.reduced
        self.parallel = loops.parallel

    @cached_property
    def reads(self) -> list[TensorAccess]:
        """The inputs with their indices."""
        *reads, _ = map(TensorAccess, operands_of(self.op), self._loops.forms)
        return reads

    @cached_property
    def write(self) -> TensorAccess:
        """The output with its indices."""
        return TensorAccess(outs_of(self.op), self._loops.forms[-1])

    @cached_property
    def extents(self) -> tuple[int, ...]:
        """The number of iterations of each loop."""
        shapes = [shape_of(value) for value in operands_of(self.op)]
        return tuple(shapes[operand][axis] for operand, axis in self._loops.shown)

    @cached_property
    def live(self) -> list[int]:
        """The inputs that the body reads. The others only give an extent."""
        return [i for i in range(len(self.reads)) if self.body.args[i].uses]

    @cached_property
    def yielded(self) -> SSAValue:
        """The value that the body computes for one output element."""
        last = self.body.last_op
        if last is None or not operands_of(last):
            raise CompilerBug("a generic without a yield")
        value, *_ = operands_of(last)
        return value

    @property
    def accumulator(self) -> BlockArgument:
        """The block argument that holds the value in `outs`."""
        return self.body.args[-1]

    @property
    def reads_outs(self) -> bool:
        """Whether the result depends on what `outs` held before."""
        return bool(self.accumulator.uses)

    @cached_property
    def combiner(self) -> tuple[Operation, SSAValue] | None:
        """The operation that folds into the accumulator and the value it folds in."""
        op = self.yielded.owner
        if not isinstance(op, Operation) or len(operands_of(op)) != 2:
            return None
        lhs, rhs = operands_of(op)
        if lhs is self.accumulator:
            return op, rhs
        return (op, lhs) if rhs is self.accumulator else None

    @property
    def is_pointwise(self) -> bool:
        """Whether all loops are parallel and the body does not read `outs`."""
        return not self.reduced and not self.reads_outs

    @property
    def product(self) -> tuple[int, int] | None:
        """The inputs a, b of a contraction acc + a*b, data first; None for anything else."""
        return self.products[0] if len(self.products) == 1 else None

    @cached_property
    def products(self) -> list[tuple[int, int]]:
        """The inputs of each product of acc + (a*b + c*d + ..), data first; else none."""
        op, total = self.combiner or (None, self.yielded)
        rest, found = [total] if isinstance(op, _SUM) else [], list[tuple[int, int]]()
        while rest:
            term = rest.pop(0).owner
            if isinstance(term, _SUM):
                rest += term.operands
                continue
            operands = term.operands if isinstance(term, arith.MulfOp | arith.MuliOp) else ()
            pair = self.positions([uncast(operand) for operand in operands])
            if pair is None:
                return []
            found.append(pair)
        return found

    def positions(self, values: Sequence[SSAValue]) -> tuple[int, int] | None:
        """The positions of two inputs, given as arguments of the body; None for other values."""
        found = [v.index for v in values if isinstance(v, BlockArgument) and v.owner is self.body]
        return (found[0], found[1]) if len(values) == len(found) == 2 else None

    @cached_property
    def _coordinates(self) -> list[IndexOp | tensor.ExtractOp]:
        """The operations of the body that compute indices, or use computed ones."""
        return [op for op in ops_of(self.body) if isinstance(op, (IndexOp, tensor.ExtractOp))]

    @cached_property
    def indexed(self) -> set[int]:
        """Loops whose value the body reads (`linalg.index`)."""
        return {op.dim.value.data for op in self._coordinates if isinstance(op, IndexOp)}

    @cached_property
    def captured(self) -> list[SSAValue]:
        """Tensors that the body reads at computed indices."""
        read = (op for op in self._coordinates if isinstance(op, tensor.ExtractOp))
        return list(dict.fromkeys(op.tensor for op in read))

    @property
    def computes_coordinates(self) -> bool:
        """Whether the body reads the values of loops, or tensors at computed indices."""
        return bool(self._coordinates)

    @cached_property
    def valid_extents(self) -> ValidExtents:
        """How many iterations of split loops count, if not all do."""
        return attributes.VALID_EXTENTS.of(self.op) or ()

    @cached_property
    def channels(self) -> tuple[int, ...] | None:
        """The channels that a gather takes from the tensor that it captures."""
        return attributes.CHANNELS.of(self.op)

    @cached_property
    def lanes(self) -> tuple[int, ...] | None:
        """The same in blocks."""
        return attributes.LANES.of(self.op)

    @cached_property
    def separable(self) -> tuple[Matrix, Matrix] | None:
        """The matrices of a transform."""
        return attributes.SEPARABLE.of(self.op)

    @property
    def factors(self) -> Attribute | None:
        """The type of its products, if an earlier pass has chosen it."""
        return attributes.FACTORS.of(self.op)

    @property
    def bf16_split(self) -> bool:
        """Whether it splits each value into two bf16 numbers."""
        return attributes.BF16_SPLIT.of(self.op) is not None

    @property
    def may_be_rebuilt(self) -> bool:
        """Whether it keeps its meaning without attributes, with other loops or another body."""
        return attributes.may_be_rebuilt(self.op)

    @property
    def bf16_source(self) -> tuple[TensorAccess, int]:
        """The input that it splits into bf16 numbers, and the axis of blocks, of which it reads
        pairs.

        It does not read tables of channels in pairs.
        """
        return next(
            (access, axis)
            for access in self.reads
            for axis, form in enumerate(access.index)
            if len(form.terms) == 2
        )

    def describe(self) -> str:
        """The operation in index notation, e.g. `y[d0,d1] += x[d0,d1*2+d2] * w[d2]`."""

        def form(f: AffineForm) -> str:
            parts = [f"d{d}" if c == 1 else f"d{d}*{c}" for d, c in f.terms]
            if f.constant or not parts:
                parts.append(str(f.constant))
            return "+".join(parts)

        def access(name: str, a: TensorAccess) -> str:
            return f"{name}[{','.join(form(f) for f in a.index)}]"

        names = "xwabcdefgh"
        reads = [access(names[i % len(names)], self.reads[i]) for i in self.live]
        folded = self.combiner if self.reduced else None
        sign = f"{folded[0].name.split('.')[-1]}=" if folded else "="
        return f"{access('y', self.write)} {sign} {' , '.join(reads)}"
