"""Records + schema + weights -> a module of ncnn ops.

    Input  data  0 1 data 0=28 1=28 2=1        %data = ncnn.Input() {w = 28, h = 28, c = 1, ...}
    ReLU   relu  1 1 data out 0=0.1      ->    %out = ncnn.ReLU(%data) {slope = 0.1, ...}
                                               func.return %out

Each layer becomes an op, in file order; each blob is a result. The network's outputs are the blobs
that nobody reads, or those asked for. Results are unranked until shapes are inferred.

The reader looks for problems in two rounds over the whole file: first in text, types, wiring and
parameters; then, if there were none, in the weights. All problems of a round are one report, in the
order of the lines of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, UnrankedTensorType, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region, SSAValue

from ncc.compiler.diagnostics import ModelError, Problem, Unsupported, did_you_mean
from ncc.compiler.read.layer_classes import HOW, problems_of, unknown_types
from ncc.compiler.read.layer_types import LAYER_TYPES
from ncc.compiler.read.records import MOST_PROBLEMS, Graph, LayerRecord, Name
from ncc.compiler.read.resolve import check_hints, resolve_params
from ncc.compiler.read.weights import WeightReader
from ncc.dialects.ncnn.file_format import SHAPE_HINTS
from ncc.dialects.ncnn.layer import LAYERS, Layer, LayerError
from ncc.dialects.ncnn.opaque import OpaqueOp

INPUT = "Input"
"""The type of layers whose blobs the caller feeds."""


def build(
    graph: Graph,
    weights: WeightReader,
    outputs: Sequence[str] | None = None,
    *,
    opaque: bool = False,
) -> tuple[ModuleOp, tuple[str, ...]]:
    """The module of a network, and warnings about what ncnn ignores in the file.

    opaque: keep layers of unknown types. Else such layers are left out, with all layers that depend
    on them, if the outputs do not need them.

    Raises ModelError with every problem of a round, Unsupported where ncnn has a layer type that
    ncc does not.
    """
    unknown = unknown_types(graph.layers if opaque else _needed(graph, outputs))
    refused = {} if opaque else unknown
    ops, warnings = _make_ops(graph, refused)
    names = output_names(graph, outputs)
    if outputs is None:
        warnings += tuple(unread_inputs(graph))
    layers = list(zip(ops, graph.layers, strict=True))
    weights.prepare(layers)
    for op, record in layers:
        op.properties.update(weights.weights_of(op, record))
    if not opaque:
        return _function(graph.path, _without_opaque(ops), names), warnings
    return _function(graph.path, ops, names), warnings


def _needed(graph: Graph, outputs: Sequence[str] | None) -> list[LayerRecord]:
    """The layers that the outputs asked for depend on, in the order of the file."""
    if outputs is None:
        return list(graph.layers)
    blobs, needed = set(outputs), list[LayerRecord]()
    for record in reversed(graph.layers):
        if not blobs.isdisjoint(blob.text for blob in record.outputs):
            blobs.update(blob.text for blob in record.inputs)
            needed.append(record)
    return needed[::-1]


def _without_opaque(ops: Sequence[Layer]) -> list[Layer]:
    """The layers without those of unknown types, and without all layers that depend on these."""
    left_out, kept = set[Layer](), list[Layer]()
    for op in ops:
        if isinstance(op, OpaqueOp) or any(operand.owner in left_out for operand in op.operands):
            left_out.add(op)
        else:
            kept.append(op)
    return kept


def _raise_if_any(problems: list[Problem]) -> None:
    """All that are told, in the order of the file."""
    if problems:
        problems.sort(key=lambda problem: (problem.line or 0, problem.column or 0))
        raise ModelError(problems[:MOST_PROBLEMS])


def _refuse(unknown: dict[str, list[LayerRecord]]) -> None:
    """Raise where there are layers of types that ncnn has."""
    if unknown:
        first = next(iter(unknown.values()))[0]
        raise Unsupported(
            f"layers of type {', '.join(sorted(unknown))}",
            how=HOW,
            layer=first.name.text,
            line=first.position.line,
        )


def _miswired(graph: Graph) -> list[Problem]:
    """Blobs that are made twice, or read where they are not made yet, or never made."""
    problems: list[Problem] = []
    made: dict[str, tuple[int, Name]] = {}
    for number, record in enumerate(graph.layers):
        for blob in record.outputs:
            _, earlier = made.setdefault(blob.text, (number, blob))
            if earlier is not blob:
                where = f" on line {earlier.place.line}" if earlier.place.line else ""
                message = f"blob {blob.text!r} is made a second time; it was first{where}"
                problems.append(graph.source.problem(message, blob.place))
    for number, record in enumerate(graph.layers):
        for blob in record.inputs:
            if blob.text in made and made[blob.text][0] < number:
                continue
            # Nearest names are searched among all blobs, so not for ever more problems.
            if len(problems) >= MOST_PROBLEMS:
                return problems
            problems.append(_unreadable(graph, record, blob, made))
    return problems


def _unreadable(
    graph: Graph, record: LayerRecord, blob: Name, made: dict[str, tuple[int, Name]]
) -> Problem:
    if blob.text not in made:
        return graph.source.problem(
            f"no layer makes the blob {blob.text!r}",
            blob.place,
            suggestion=did_you_mean(blob.text, made),
        )
    number, maker = made[blob.text]
    if graph.layers[number] is record:
        message = f"{record} reads the blob {blob.text!r}, which it makes itself: a cycle"
        return graph.source.problem(message, blob.place)
    where = f" on line {maker.place.line}" if maker.place.line else f" by layer {number}"
    message = f"blob {blob.text!r} is read before it is made{where}: a cycle, or a wrong order"
    return graph.source.problem(message, blob.place)


def input_names(graph: Graph) -> list[str]:
    """The blobs that the caller feeds."""
    inputs = (record for record in graph.layers if record.type.text == INPUT)
    return [blob.text for record in inputs for blob in record.outputs]


def unread_inputs(graph: Graph) -> Iterator[str]:
    """A warning for every input that is an output, too, for want of a reader."""
    read = _read_names(graph)
    for record in graph.layers:
        for blob in record.outputs if record.type.text == INPUT else ():
            if blob.text not in read:
                message = f"no layer reads the input {blob.text!r}: it is an output, too"
                yield graph.source.warning(message, record.position)


def _read_names(graph: Graph) -> set[str]:
    return {blob.text for record in graph.layers for blob in record.inputs}


def output_names(graph: Graph, asked: Sequence[str] | None) -> list[str]:
    """The blobs to return, each once. Raises ModelError for one that no layer makes."""
    made = [blob.text for record in graph.layers for blob in record.outputs]
    if asked is None:
        read = _read_names(graph)
        names = [blob for blob in made if blob not in read]
        if not names:
            raise graph.source.error("the network has no output: no blob is left unread")
        return names
    if unknown := set(asked) - set(made):
        raise ModelError(
            graph.source.problem(
                f"no layer makes the blob {name!r} that was asked for as an output",
                suggestion=did_you_mean(name, made),
            )
            for name in sorted(unknown)
        )
    if not asked:
        raise graph.source.error("no output was asked for")
    return list(dict.fromkeys(asked))


def _make_ops(
    graph: Graph, refused: dict[str, list[LayerRecord]]
) -> tuple[list[Layer], tuple[str, ...]]:
    """The layers with their parameters, all of them checked. refused: layers of unknown types.

    Parameters of a network that is miswired are looked at, too: problems are raised together.
    """
    ops: list[Layer] = []
    problems = list(graph.problems)
    if not problems:  # blobs of layers that could not be read are no problems of others
        problems += _miswired(graph)
    if any(type not in LAYER_TYPES for type in refused):
        problems += problems_of(graph, refused)
    warnings: list[str] = []
    values: dict[str, SSAValue] = {}
    # What a layer reads where its blob is a problem; no such layer is handed out.
    not_made = Block(arg_types=[UnrankedTensorType(f32)]).args[0]
    for record in graph.layers:
        if record.type.text in refused:
            continue
        operands = [values.get(blob.text, not_made) for blob in record.inputs]
        op, own_problems, own_warnings = _make_op(graph, record, operands)
        values.update(zip((blob.text for blob in record.outputs), op.results, strict=True))
        ops.append(op)
        problems += own_problems
        warnings += own_warnings
    _raise_if_any(problems)
    _refuse(refused)
    return ops, tuple(warnings)


def _make_op(
    graph: Graph, record: LayerRecord, operands: Sequence[SSAValue]
) -> tuple[Layer, list[Problem], list[str]]:
    cls = LAYERS.get(record.type.text)
    if cls is None:
        return _make_opaque(graph, record, operands)
    params, problems, warnings = resolve_params(graph.source, record, cls.LAYER)
    op = cls.make(
        operands,
        params,
        name=record.name.text,
        blobs=[blob.text for blob in record.outputs],
        line=record.position.line or 0,
    )
    problems += _miscounted(graph, record, cls)
    if not problems:
        try:
            op.check()
        except LayerError as error:
            problems.append(_refused(graph, record, cls, error))
    return op, problems, warnings


def _make_opaque(
    graph: Graph, record: LayerRecord, operands: Sequence[SSAValue]
) -> tuple[Layer, list[Problem], list[str]]:
    """A layer of an unknown type, from the words of a text."""
    if record.position.line is None and record.params:
        raise Unsupported(
            f"the params of a layer of type {record.type} in a .param.bin, which does not say what "
            "is a float",
            how="take the .param text",
            layer=record.name.text,
        )
    hints = record.params.get(SHAPE_HINTS)
    problems: list[Problem] = []
    if hints is not None:
        try:
            check_hints(graph.source, record, hints)
        except ModelError as error:
            problems += error.problems
    op = OpaqueOp.of(
        record.type.text,
        operands,
        record.words,
        [int(number) for number in hints.values] if hints is not None and not problems else [],
        name=record.name.text,
        blobs=[blob.text for blob in record.outputs],
        line=record.position.line or 0,
    )
    return op, problems, []


def _miscounted(graph: Graph, record: LayerRecord, cls: type[Layer]) -> list[Problem]:
    """A wrong number of inputs or outputs for the layer type."""
    problems = []
    for what, count, (least, most) in (
        ("input", len(record.inputs), cls.LAYER.inputs),
        ("output", len(record.outputs), cls.LAYER.outputs),
    ):
        if count >= least and (most is None or count <= most):
            continue
        wanted = f"at least {least}" if most is None else f"{least} to {most}"
        problems.append(
            graph.source.problem(
                f"{record} has a wrong number of {what}s",
                record.position,
                expected=str(least) if least == most else wanted,
                found=str(count),
            )
        )
    return problems


def _refused(graph: Graph, record: LayerRecord, cls: type[Layer], error: LayerError) -> Problem:
    """The problem that a layer's own check found, at the position of the parameter in the file."""
    place = record.position
    if error.param is not None and error.param in cls.LAYER.params:
        raw = record.params.get(cls.LAYER.params[error.param].id)
        place = place if raw is None else raw.place
    return graph.source.problem(f"{record}: {error.message}", place)


def _function(path: str, ops: Sequence[Layer], names: Sequence[str]) -> ModuleOp:
    """The layers as the body of `@network`, which returns the named blobs of the file `path`."""
    values: dict[str, SSAValue] = {}
    for op in ops:
        values.update(zip(op.blob_names, op.results, strict=True))
    returned = [values[name] for name in names]
    function = FuncOp(
        "network",
        ((), [value.type for value in returned]),
        Region(Block([*ops, ReturnOp(*returned)])),
    )
    function.attributes["source"] = StringAttr(path)
    function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in names])
    return ModuleOp([function])
