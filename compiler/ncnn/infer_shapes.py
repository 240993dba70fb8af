"""Give every value its shape and its element type, by the rules of the layers.

    %data = ncnn.Input() {w = 28, h = 28, c = 3} : () -> tensor<*xf32>
    %y = ncnn.Convolution(%data) {num_output = 8, kernel_w = 3} : (tensor<*xf32>) -> tensor<*xf32>

becomes

    %data = ncnn.Input() {w = 28, h = 28, c = 3} : () -> tensor<3x28x28xf32>
    %y = ncnn.Convolution(%data) {...} : (tensor<3x28x28xf32>) -> tensor<8x26x26xf32>

The shape of an input is the one asked for (`inputs = ["data=3x224x224"]`), else the one its value
already has, else the one its params say. Its elements are of the type asked for
(`element_types = ["data=int8"]`), else of the one that the layers which read it want: int32 for an
Embed. All problems of a network are reported at once, each with the way its shapes came; a layer
that has one is left out where no output needs it. Behind a layer of an unknown type shapes are what
the file's hints say, or not known.

Needs: layers whose params are checked.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ModuleOp, UnrankedTensorType, f32
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from ncc.compiler.diagnostics import CompilerBug, ModelError, Unsupported
from ncc.compiler.ncnn.input_types import input_types, parse_input_type
from ncc.compiler.ncnn.misfed import Trials
from ncc.compiler.ncnn.open_shapes import require_possible
from ncc.compiler.ncnn.shape_problems import describe, shape_problem, unknown_extents
from ncc.compiler.ncnn.sized_shapes import SIDE, axes_of, extent_names, symbols_in
from ncc.compiler.ncnn.sizes import check_sizes
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import (
    DYNAMIC,
    Layer,
    LayerError,
    OpenShape,
    Shape,
    blob_type,
    shape_of,
)
from ncc.dialects.ncnn.network import CACHE_RANK, CACHE_ROWS, Network, implied_inputs
from ncc.dialects.ncnn.opaque import OpaqueOp
from ncc.dialects.ncnn.param import NotYet
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.dialects.onnx.control import IfOp
from ncc.dialects.onnx.operator import ConstantOp, SizesOp
from ncc.dialects.shapes import shown
from ncc.dialects.size import NeedsNumbers, Size
from ncc.runtime.errors import InputError

ROWS = (1009, 2003)
"""Numbers of rows that shape rules are asked with where only the run counts the rows."""


@dataclass(frozen=True)
class InferShapes(ModulePass):
    """`infer-shapes{inputs="data=3x224x224" element_types="data=int8"}`"""

    name = "infer-shapes"

    inputs: tuple[str, ...] = ()
    element_types: tuple[str, ...] = ()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        shapes = dict(map(parse_input_shape, self.inputs))
        infer_shapes(op, shapes, dict(map(parse_input_type, self.element_types)))


def parse_input_shape(text: str) -> tuple[str, Shape]:
    """`"data=3x224x224"` as a name and a shape in numpy order; `InputError` for anything else."""
    name, equals, extents = text.rpartition("=")
    numbers = extents.replace(",", "x").split("x")
    if not equals or not all(number.isdecimal() for number in numbers):
        raise InputError(f"{text!r} is no shape of an input", expected="name=3x224x224")
    return name, tuple(map(int, numbers))


def infer_shapes(
    module: ModuleOp,
    input_shapes: Mapping[str, OpenShape] | None = None,
    types: Mapping[str, str] | None = None,
) -> None:
    """Give every value of a network its shape and its element type.

    `input_shapes`: shapes in numpy order by the names of input blobs; they override the file's.
    `types`: element types by those names, as `BLOB_ELEMENTS` calls them.

    Raises `InputError` for a name that is no input, `ModelError` with every layer that cannot take
    the shapes it is given and every input whose shape nobody says, `Unsupported` where a layer
    reads a value whose extents only the run knows.
    """
    asked = dict(input_shapes or {})
    network = Network.of(module)
    implied = implied_inputs(network)
    require_possible(network, asked)
    elements = input_types(module, types)
    refused = _Inference(network, asked, elements, implied).run()
    if refused:

        def refusing(copy: ModuleOp, other: Mapping[str, Shape]) -> list[Layer]:
            return list(_Inference(Network.of(copy), {**asked, **other}, elements, implied).run())

        trials = Trials(module, list(refused), refusing)
        raise ModelError(
            shape_problem(op, error, network.source, trials.misfed(op))
            for op, error in refused.items()
        )
    for name, shape in asked.items():
        found = shape_of(network.inputs[name]) or ()
        if not _admits(shape, found):
            raise InputError(f"input {name!r} has another shape", name, shown(found), shown(shape))


@dataclass
class _Inference:
    """One walk over a network."""

    network: Network
    asked: Mapping[str, OpenShape]
    elements: Mapping[str, Attribute]
    implied: Collection[str]
    pasts: list[int] = field(default_factory=list)
    """The rows of caches that nothing else tells."""

    def run(self) -> dict[Layer, LayerError]:
        """The layers that refuse their operands, and the reasons."""
        network = self.network
        refused: dict[Layer, LayerError | Unsupported] = {}
        failed: set[SSAValue] = set()
        waiting = network.layers[::-1]
        while waiting:
            op = waiting.pop()
            try:
                waiting += reversed(self._visit(op, failed))
            except (LayerError, NeedsNumbers, Unsupported) as error:
                failed.update(op.results)
                if isinstance(error, NeedsNumbers):
                    error = _needs_numbers(op, error)
                refused[op] = error
        needed = network.needed | {op for op in network.layers if isinstance(op, InputOp)}
        told = _without_untaken(network, {op: e for op, e in refused.items() if op in needed})
        for op in reversed(network.layers):
            if op not in needed and failed.intersection(op.results):
                PatternRewriter(op).erase(op)
        network.function.update_function_type()
        return _told(told)

    def _visit(self, op: Layer, failed: set[SSAValue]) -> Sequence[Layer]:
        """Give the results of a layer their types; or put others in its place, which come next."""
        if isinstance(op, OpaqueOp):
            failed.update(self._believe(op))
        elif (folded := op.folded()) is not None:
            constants = [one for one in folded if isinstance(one, Layer)]
            values = [one.results[0] if isinstance(one, Layer) else one for one in folded]
            Rewriter.replace_op(op, constants, new_results=values)
        elif failed.intersection(op.operands):  # told once, where it went wrong
            failed.update(op.results)
            if isinstance(op, IfOp) and op.operands[0] not in failed:
                raise op.undecided()
        elif (expansion := op.expanded()) is not None:
            layers, results = expansion
            Rewriter.replace_op(op, list(layers), new_results=results)
            return layers
        else:
            self._infer(op)
        return ()

    def _infer(self, op: Layer) -> None:
        if isinstance(op, InputOp):
            self._infer_input(op)
            return
        if isinstance(op, SplitOp) and shape_of(op.operands[0]) is None:
            return  # told by who reads it
        if op.implied():
            self._complete(op)
        shapes = []
        for operand in op.operands:
            shape = shape_of(operand)
            if shape is None:
                raise CompilerBug(f"an operand of {describe(op)} has no shape", InferShapes.name)
            shapes.append(shape)
        counted = any(DYNAMIC_INDEX in shape for shape in shapes) and not op.READS_COUNTED
        inferred = _infer_rows(op, shapes) if counted else infer_layer(op, shapes)
        elements = op.element_types_all([element_of(operand) for operand in op.operands])
        for result, element, shape in zip(op.results, elements, inferred, strict=True):
            _set_type(result, element, shape)

    def _infer_input(self, op: InputOp) -> None:
        """Each result has the shape asked for, or its own, or waits for who reads it."""
        for k, (name, result) in enumerate(zip(op.blob_names, op.results, strict=True)):
            asked = self.asked.get(name)
            if asked is None and shape_of(result) is None:
                stated = op.stated
                waits = stated is None or None in stated
            else:
                waits = asked is not None and None in asked
            shape: Shape | None
            if waits and name in self.implied:
                shape = None
            else:
                shape = op.shape_of_result(k) if asked is None else _settled(name, asked)
                check_sizes(op, (), [shape])
            _set_type(result, self.elements[name], shape)

    def _complete(self, op: Layer) -> None:
        """Give their types to the inputs that wait for this layer."""
        shapes = [shape_of(operand) for operand in op.operands]
        waiting = [op.operands[k] for k in op.caches() if shapes[k] is None]
        rows = self._rows(_source(waiting[0])) if waiting else 0
        completed = op.complete(shapes, rows)
        for operand, before, shape in zip(op.operands, shapes, completed, strict=True):
            if before is None and shape is not None:
                _set_all(operand, shape)
        if any(rows in shape for shape in completed if waiting and shape is not None):
            self.pasts.append(rows)

    def _rows(self, cache: SSAValue) -> int:
        """The rows of a cache, where nothing else tells them: any number."""
        name = next(name for name, value in self.network.inputs.items() if value is cache)
        shapes = (*self.asked.values(), self.pasts)
        taken = {symbol.name for shape in shapes for symbol in symbols_in(shape)}
        names = extent_names(name, axes_of(cache, CACHE_RANK), taken)
        return Size.symbol(names[CACHE_ROWS], SIDE, least=0)

    def _believe(self, op: OpaqueOp) -> list[SSAValue]:
        """Take the shapes behind a layer of an unknown type from the hints of the file.

        Its hints hold for the inputs that the file states. The results whose shapes stay unknown.
        """
        hinted = op.hinted_shapes if not self.asked else [None] * len(op.results)
        for result, shape in zip(op.results, hinted, strict=True):
            _set_type(result, f32, shape)
        return [result for result, shape in zip(op.results, hinted, strict=True) if shape is None]


def _admits(asked: OpenShape, found: Shape) -> bool:
    """Whether a shape is one that was asked for, None being any extent."""
    return len(asked) == len(found) and all(
        a in (None, b) for a, b in zip(asked, found, strict=True)
    )


def _settled(name: str, shape: OpenShape) -> Shape:
    settled = tuple(extent for extent in shape if extent is not None)
    if len(settled) < len(shape):
        raise LayerError(f"the shape of input '{name}' is left open: {shown(shape)}")
    return settled


def _needs_numbers(op: Layer, error: NeedsNumbers) -> Unsupported:
    return Unsupported(str(error), layer=op.layer_name, line=op.line or None)


def infer_layer(op: Layer, shapes: Sequence[Shape]) -> list[Shape]:
    """The shapes of a layer's results from those of its operands: extents positive or `DYNAMIC`.

    Raises `LayerError` where the layer does not take these shapes, `CompilerBug` where its rule
    is broken.
    """
    given = [tuple(DYNAMIC if n == DYNAMIC_INDEX else n for n in shape) for shape in shapes]
    try:
        inferred = op.infer_all(given)
    except NeedsNumbers as error:
        raise _needs_numbers(op, error) from error
    except NotImplementedError as error:
        raise LayerError(str(error)) from error
    except InputError:
        raise  # of pixels that the caller asks for
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        raise CompilerBug(
            f"the shape rule of {describe(op)} fails on {', '.join(map(shown, shapes))}: {error}",
            InferShapes.name,
        ) from error
    if len(inferred) != len(op.results):
        raise CompilerBug(f"{describe(op)} has {len(op.results)} results, not {len(inferred)}")
    for shape in inferred if not isinstance(op, ConstantOp | SizesOp) else ():  # which may be empty
        if any(n <= 0 and n != DYNAMIC for n in shape):
            raise LayerError(f"nothing is left: the result would be {shown(shape)}")
    check_sizes(op, given, inferred)
    return inferred


def _infer_rows(op: Layer, shapes: Sequence[Shape]) -> list[Shape]:
    """The same of a layer that knows nothing of rows that the run counts, and has a row for each.

    `(?, 6) -> (?, 2)` where 1009 rows of 6 become 1009 of 2, and 2003 become 2003.
    """
    try:
        asked = [
            infer_layer(op, [tuple(rows if n == DYNAMIC_INDEX else n for n in x) for x in shapes])
            for rows in ROWS
        ]
    except LayerError as error:
        raise LayerError(error.message.replace(str(ROWS[0]), "?"), error.param) from error
    for found in zip(*asked, strict=True):
        if any(shape[0] != rows for shape, rows in zip(found, ROWS, strict=True)):
            raise unknown_extents(op)
        if len({shape[1:] for shape in found}) > 1:
            raise unknown_extents(op)
    return [(DYNAMIC, *shape[1:]) for shape in asked[0]]


def _without_untaken(
    network: Network, refused: Mapping[Layer, LayerError | Unsupported]
) -> Mapping[Layer, LayerError | Unsupported]:
    """The refusals without those of layers that only an undecided If reads: the file is right if
    that branch is not taken. But where another layer is wrong, its If is not at fault.
    """
    undecided = [op for op in refused if isinstance(op, IfOp)]
    surely = network.needed_without(undecided)
    others = {op: error for op, error in refused.items() if op in surely and op not in undecided}
    return others or {op: refused[op] for op in undecided} or refused


def _told(refused: Mapping[Layer, LayerError | Unsupported]) -> dict[Layer, LayerError]:
    """The layers that are wrong. Raises `Unsupported` where one asks for what ncc cannot do."""
    others = [error for error in refused.values() if isinstance(error, Unsupported)]
    lacking = {op: error for op, error in refused.items() if isinstance(error, NotYet)}
    if others and not lacking:
        raise others[0]
    if lacking:
        raise _unsupported(lacking)
    return {op: error for op, error in refused.items() if isinstance(error, LayerError)}


def _unsupported(lacking: Mapping[Layer, NotYet]) -> Unsupported:
    """All that ncc cannot do, by layer."""
    (op, error), *rest = lacking.items()
    what, name = f"{op.type_name}: {error.message}", op.layer_name or op.blob_names[0]
    for other, reason in rest:
        what += f"; {other.type_name} ({other.layer_name!r}): {reason.message}"
    return Unsupported(what, how=error.how, layer=name, line=op.line or None)


def _set_type(value: SSAValue, element: Attribute, shape: Shape | None) -> None:
    kind = UnrankedTensorType(element) if shape is None else blob_type(element, shape)
    if value.type != kind:
        Rewriter.replace_value_with_new_type(value, kind)


def _source(value: SSAValue) -> SSAValue:
    """What a value is a copy of."""
    while isinstance(value.owner, SplitOp):
        value = value.owner.operands[0]
    return value


def _set_all(value: SSAValue, shape: Shape) -> None:
    """Give a shape to a value, to what it is a copy of, and to all copies."""
    copies = [_source(value)]
    for copy in copies:
        for use in copy.uses:
            if isinstance(use.operation, SplitOp):
                copies += use.operation.results
    for copy in copies:
        _set_type(copy, element_of(copy), shape)
