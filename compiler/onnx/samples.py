"""Whether the samples of a batch are computed apart, so that code for one of them is enough.

    x: n x 3 x h x w  ->  Conv  ->  Reshape to n x 64  ->  y: n x 64        apart
    x: n x 8          ->  Transpose  ->  y: 8 x n                           not apart

A batch that is the first axis of all inputs and outputs, and stays the first axis of all between,
is run sample by sample: layers of ncnn have no batch, and one compilation is for any number.

The proof takes the number of samples as a size that nothing may ask for. Then it walks over the
operators. Each either keeps samples apart by its definition, or is not known to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.layer import Layer
from ncc.dialects.ncnn.network import Network
from ncc.dialects.onnx import activations, binary, casts, convolution, movement, normalization
from ncc.dialects.onnx.gather import GatherOp
from ncc.dialects.onnx.linear import GemmOp, MatMulOp
from ncc.dialects.onnx.operator import Operator, SizesOp, axis_of
from ncc.dialects.onnx.padding import PadOp, PadV2Op
from ncc.dialects.onnx.plumbing import DropoutOp, IdentityOp, OnnxInputOp
from ncc.dialects.onnx.pointwise import BinaryOperator, UnaryOperator
from ncc.dialects.onnx.pooling import GlobalAveragePoolOp, Pool
from ncc.dialects.onnx.reduction import Reduction
from ncc.dialects.onnx.resize import ResizeOp
from ncc.dialects.onnx.sampling import GridSampleOp
from ncc.dialects.onnx.slices import ExpandOp, SliceOp, SliceV1Op, SplitOp, SplitV2Op
from ncc.dialects.onnx.softmax import SoftmaxOp
from ncc.dialects.shapes import OpenShape, Shape
from ncc.dialects.size import Assumption, Size, form_of
from ncc.runtime.extents import OPEN

SAMPLES = "samples"
"""The name of the number of samples in the proof."""

POINTWISE = (
    UnaryOperator,
    BinaryOperator,
    casts.CastOp,
    IdentityOp,
    DropoutOp,
    binary.WhereOp,
    binary.PowOp,
    activations.ClipOp,
    activations.PReluOp,
    ExpandOp,
)
"""Each element of a result is made of those at its place."""

IMAGES = (
    convolution.ConvOp,
    convolution.ConvTransposeOp,
    Pool,
    GlobalAveragePoolOp,
    normalization.BatchNormalizationOp,
    normalization.InstanceNormalizationOp,
    movement.DepthToSpaceOp,
    movement.SpaceToDepthOp,
)
"""The first axis of the first operand is a batch by definition; others have none."""

RESHAPING = movement.ViewOperator, movement.ConstantOfShapeOp, ExpandOp, ResizeOp
"""Operands that decide the shape of their results may tell the number of samples."""


def batch_of(shapes: Mapping[str, OpenShape | None]) -> int | None:
    """The first extent of all inputs, `OPEN` where it is open; None if there is no such batch."""
    firsts = {_first(shape) for shape in shapes.values()}
    return firsts.pop() if len(firsts) == 1 and firsts.isdisjoint({1, None}) else None


def _first(shape: OpenShape | None) -> int | None:
    if not shape:
        return None
    return OPEN if shape[0] is None or isinstance(shape[0], Size) else shape[0]


def with_samples(shapes: Mapping[str, OpenShape]) -> dict[str, OpenShape]:
    """The shapes of inputs with the number of samples as a size."""
    samples = _samples()
    return {name: (samples, *shape[1:]) for name, shape in shapes.items()}


def _samples() -> int:
    return Size.symbol(SAMPLES, hint=3)


def are_apart(module: ModuleOp, assumed: Iterable[Assumption], batch: int) -> bool:
    """Whether a network computes the samples of its inputs apart.

    module: with shapes that were inferred from `with_samples`. assumed: what inference assumed.
    batch: as of `batch_of`. Inputs of which no value is made together may have different batches.
    """
    if any(_is_of_samples(Size.of(one.form)) for one in assumed):
        return False
    network = Network.of(module)
    walk = _Walk(_samples())
    for op in network.layers:
        walk.look_at(op)
    if batch == OPEN and not _are_joined(network.inputs.values(), walk.apart.values()):
        return False
    return all(value in walk.apart for value in network.outputs.values())


def _are_joined(inputs: Iterable[SSAValue], groups: Collection[frozenset[SSAValue]]) -> bool:
    """Whether groups that share an input, and so on, hold all inputs together."""
    first, *others = inputs
    joined, before = {first}, 0
    while len(joined) > before:
        before = len(joined)
        joined.update(*(group for group in groups if not joined.isdisjoint(group)))
    return joined.issuperset(others)


class _Walk:
    """The values of which each sample is made of one sample of the inputs, with these inputs, and
    those that are made of inputs in another way.
    """

    def __init__(self, samples: int) -> None:
        self.samples = samples
        self.apart: dict[SSAValue, frozenset[SSAValue]] = {}
        self.mixed: set[SSAValue] = set()

    def look_at(self, op: Layer) -> None:
        """Note what the results of an operator are."""
        if isinstance(op, OnnxInputOp):
            self.apart.update({value: frozenset({value}) for value in op.results})
            return
        read = [value for k, value in enumerate(op.operands) if k not in op.settling()]
        filled = isinstance(op, movement.ConstantOfShapeOp)
        keeps = isinstance(op, Operator) and (filled or self._keeps(op, read))
        made_of = frozenset[SSAValue]().union(*(self.apart.get(value, ()) for value in read))
        for result in op.results:
            if keeps and self._counts(result):
                self.apart[result] = made_of
            elif not filled and (made_of or not self.mixed.isdisjoint(read)):
                self.mixed.add(result)

    def _counts(self, value: SSAValue) -> bool:
        """Whether the first extent, and no other one, is the number of samples."""
        first, *rest = shape(value) or (1,)
        return first == self.samples and not any(map(_is_of_samples, rest))

    def _keeps(self, op: Operator, read: Sequence[SSAValue]) -> bool:
        settled = [value for value in op.operands if value not in read]
        if any(value in self.mixed or _tells_samples(value) for value in read):
            return False
        if not isinstance(op, RESHAPING) and any(map(_tells_samples, settled)):
            return False
        return self._keeps_apart(op, read) if not self.apart.keys().isdisjoint(read) else False

    def _keeps_apart(self, op: Operator, read: Sequence[SSAValue]) -> bool:
        """The same of an operator of which nothing else says that it does not."""
        if isinstance(op, POINTWISE):
            return all(self._meets(value, len(shape(op.results[0]))) for value in read)
        x, *others = read
        if isinstance(op, movement.ConcatOp):
            return op.along(shape(x)) > 0 and self.apart.keys() >= {*read}
        if isinstance(op, GridSampleOp):
            return self.apart.keys() >= {*read}
        if isinstance(op, MatMulOp):
            return self._are_products(x, others[0])
        if x not in self.apart:
            return False
        if isinstance(op, GemmOp):
            alone = others[0] not in self.apart
            return not op.transA and alone and all(self._meets(c, 2) for c in others[1:])
        return self.apart.keys().isdisjoint(others) and self._keeps_first(op, shape(x))

    def _keeps_first(self, op: Operator, x: Shape) -> bool:
        """Whether the first axis of the first operand is that of the results."""
        match op:
            case movement.ViewOperator() | ResizeOp():
                return x[0] == self.samples
            case movement.TransposeOp():
                return op.order(len(x))[0] == 0
            case SliceOp() | SliceV1Op():
                return op.slices(x)[0] == (0, self.samples, 1)
            case SplitOp() | SplitV2Op():
                return op.parts(x)[0] > 0
            case PadOp() | PadV2Op():
                return op.borders(x)[0] == (0, 0)
            case Reduction() | SoftmaxOp():
                return 0 not in op.region(x)
            case GatherOp():
                return axis_of(op.axis, len(x)) > 0
        # The second result of a pool tells places in the whole batch.
        return isinstance(op, IMAGES) and len(op.results) == 1

    def _meets(self, value: SSAValue, rank: int) -> bool:
        """Whether what is broadcast to a rank gives each sample its own, or the same to all."""
        extents = shape(value)
        if value in self.apart:
            return len(extents) == rank
        return len(extents) < rank or extents[0] == 1

    def _are_products(self, x: SSAValue, y: SSAValue) -> bool:
        """Whether products of matrices are those of samples, or rows are the samples."""
        rank = max(len(shape(x)), len(shape(y)))
        if rank == 2:
            return x in self.apart and y not in self.apart and len(shape(x)) == 2
        return all(len(shape(value)) > 1 and self._meets(value, rank) for value in (x, y))


def _is_of_samples(extent: int) -> bool:
    return SAMPLES in {symbol.name for symbol in form_of(extent).symbols}


def _tells_samples(value: SSAValue) -> bool:
    """Whether a value holds the number of samples."""
    return isinstance(value.owner, SizesOp) and any(map(_is_of_samples, value.owner.values))
