"""Files of a network -> smaller files that say the same: `ncc optimize`, `ncc.optimize`.

read -> infer shapes -> cut -> optimize -> write

Nothing is written before all of it has gone well. The report tells every rewrite, what was refused,
and what the network costs before and after.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, UnrankedTensorType
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ncc.compiler.diagnostics import CompilerBug, ModelError, Unsupported
from ncc.compiler.ncnn.check_rewrites import refuse_changed_results
from ncc.compiler.ncnn.cut import cut
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.memory_estimate import blob_bytes, weight_bytes
from ncc.compiler.ncnn.multiply_adds import multiply_adds
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.ncnn.rewrite import Rewrite
from ncc.compiler.open_blobs import read_blobs
from ncc.compiler.options import flag_of, names_of, shapes_by_name
from ncc.compiler.progress import tell
from ncc.compiler.read.layer_classes import unknown_types, warning_of
from ncc.compiler.read.read_network import read
from ncc.compiler.read.records import Graph
from ncc.compiler.write.wiring import wire
from ncc.compiler.write.write_network import Written, network_text, write
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.canonicalize.identities import EliminateSplit
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.layer import Layer, OpenShape, shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.opaque import OpaqueOp
from ncc.dialects.ncnn.param import to_attribute
from ncc.dialects.ncnn.plumbing import InputOp, NoopOp
from ncc.dialects.size import is_open
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import is_onnx
from ncc.runtime.memory_files import FileLike, file_of
from ncc.runtime.paths import PathLike, path_of

NO_WEIGHTS = "null"
"""The .bin that ncnnoptimize takes for random weights."""

SEED = 0
"""The seed of random weights."""


@dataclass(frozen=True)
class NetworkCost:
    """The cost of a network.

    layers: those of its file, with Splits. weight_bytes, blob_bytes: in memory, estimated. The last
    two are None where a shape is not known.
    """

    layers: int
    weight_bytes: int
    blob_bytes: int | None
    multiply_adds: int | None

    @staticmethod
    def of(module: ModuleOp) -> NetworkCost:
        layers = len(wire(Network.of(module)))
        blobs = blob_bytes(module)
        known = None if blobs is None else multiply_adds(module)
        return NetworkCost(layers, weight_bytes(module), blobs, known)


@dataclass(frozen=True)
class Refusal:
    """A rewrite that was legal and was found to change results."""

    pattern: str
    layers: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"{self.pattern} {' '.join(self.layers)} refused: {self.reason}"


@dataclass(frozen=True)
class OptimizeReport:
    """The report of the rewrites of a network.

    rewrites: in order. refusals: rewrites that were tried and changed results. warnings: what the
    files say that is ignored, and shapes that are not known. written: None for a dry run. As a
    text it is what `ncc optimize` prints.
    """

    rewrites: tuple[Rewrite, ...]
    refusals: tuple[Refusal, ...]
    warnings: tuple[str, ...]
    before: NetworkCost
    after: NetworkCost
    written: Written | None

    def lines(self) -> Iterator[str]:
        """The report, a rewrite a line and the summary behind it.

        Splits that come and go are no lines: they stand in a file wherever a blob is read twice.
        """
        yield from (str(one) for one in self.rewrites if one.pattern != EliminateSplit.name)
        yield from map(str, self.refusals)
        yield from _summary(self.before, self.after)
        if self.written is not None:
            size = self.written.bin_bytes
            yield f"{'the .bin':<14} {_in_unit(size, _BYTES, size)}"

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True)
class Optimized:
    """A network before and after, in IR. has_shapes: whether all were known from the start."""

    original: ModuleOp
    module: ModuleOp
    rewrites: tuple[Rewrite, ...]
    refusals: tuple[Refusal, ...]
    warnings: tuple[str, ...]
    has_shapes: bool


def optimize(
    in_param: FileLike,
    in_bin: FileLike | None,
    out_param: PathLike,
    out_bin: PathLike,
    fp16: bool = False,
    *,
    start: str | None = None,
    end: str | None = None,
    off: Collection[str] = (),
    keep: Collection[str] = (),
    input_shapes: Mapping[str, Sequence[int | None]] | None = None,
    verify_rewrites: bool = False,
    dry_run: bool = False,
) -> OptimizeReport:
    """Optimize the network in `in_param` and `in_bin` into `out_param` and `out_bin`.

    in_bin: "null" makes random weights; None is the .bin beside the .param. fp16: store weights as
    halves. start, end: the first and the last layer to keep, by name. off: passes that must not
    fire. keep: blobs that must survive by name. Of both, a string is one. input_shapes: in numpy
    order by blob name. verify_rewrites: try each rewrite on numbers, and refuse those that change
    any. dry_run: write nothing.

    Layers of types that ncc does not know are handed on as they are, with their weights.

    Raises ModelError where the files are at fault, Unsupported for layers that no file can say,
    InputError for names that the network does not have and paths that cannot be written. Then
    nothing is written.
    """
    out_param = path_of(out_param, "the .param to write")
    out_bin = path_of(out_bin, "the .bin to write")
    fp16, dry_run = flag_of("fp16", fp16), flag_of("dry_run", dry_run)
    done = optimize_network(
        in_param,
        in_bin,
        start=start,
        end=end,
        off=off,
        keep=keep,
        input_shapes=input_shapes,
        verify_rewrites=verify_rewrites,
    )
    warnings = done.warnings
    if dry_run:
        network_text(done.module)  # for its errors
        written = None
    else:
        tell("writing")
        # Where shapes contradict each other, those that seem known may be wrong.
        written = write(done.module, out_param, out_bin, fp16=fp16, hints=done.has_shapes)
        warnings += tuple(map(str, written.kept_wide))
    before, after = NetworkCost.of(done.original), NetworkCost.of(done.module)
    return OptimizeReport(done.rewrites, done.refusals, warnings, before, after, written)


def optimize_network(
    in_param: FileLike,
    in_bin: FileLike | None = None,
    *,
    start: str | None = None,
    end: str | None = None,
    off: Collection[str] = (),
    keep: Collection[str] = (),
    input_shapes: Mapping[str, Sequence[int | None]] | None = None,
    verify_rewrites: bool = False,
) -> Optimized:
    """The same without writing; the network before and after as modules."""
    off, keep = names_of("passes", off), names_of("blobs", keep)
    asked = shapes_by_name(input_shapes)
    verify_rewrites = flag_of("verify_rewrites", verify_rewrites)
    tell("reading")
    in_param = file_of(in_param, "the .param")
    in_bin = None if in_bin is None else file_of(in_bin, "the .bin")
    warnings: tuple[str, ...]
    unknown: tuple[str, ...]
    if is_onnx(in_param):
        if in_bin is not None:
            raise InputError("an .onnx has its weights: no .bin belongs to it")
        (module, warnings), unknown = read_blobs(in_param, asked), ()
        asked = {}  # shapes with the batch axis of the .onnx
    else:
        module, warnings, unknown = _read(in_param, in_bin, asked)
    if start is not None or end is not None:
        cut(module, start, end)
    original = module.clone()
    _return_collected(module)
    check = _Check() if verify_rewrites else None
    tell("rewriting")
    rewrites = optimize_module(module, off=off, keep=keep, check=check)
    if rewrites:
        _infer(module, asked)
    try:
        module.verify()
    except VerifyException as error:
        raise CompilerBug(f"the network is broken: {error}", "optimize", str(module)) from error
    refusals = () if check is None else tuple(check.refusals)
    return Optimized(original, module, tuple(rewrites), refusals, warnings, not unknown)


def _read(
    in_param: str, in_bin: str | None, asked: Mapping[str, OpenShape]
) -> tuple[ModuleOp, tuple[str, ...], tuple[str, ...]]:
    """The network of a .param, what there is to warn of, and what is not known of its shapes."""
    random = in_bin == NO_WEIGHTS
    result = read(
        in_param, None if random else in_bin, random_weights=SEED if random else None, opaque=True
    )
    module = result.module
    unknown = _infer(module, asked)
    warnings = (*_handed_on(result.graph), *result.warnings, *unknown, *_unseen(module))
    _state_shapes(module, asked)
    return module, warnings, unknown


@dataclass
class _Check:
    """Tries every rewrite, and remembers each that was refused once."""

    refusals: dict[Refusal, None] = field(default_factory=dict)

    def __call__(self, pattern: LayerPattern, layers: Match) -> str | None:
        reason = refuse_changed_results(pattern, layers)
        if reason is not None:
            names = tuple(layer.layer_name for layer in layers)
            self.refusals[Refusal(pattern.name, names, reason)] = None
        return reason


def _infer(module: ModuleOp, asked: Mapping[str, OpenShape]) -> tuple[str, ...]:
    """Infer what shapes there are; what is not known is a warning, for ncnn runs the file as well.

    Without shapes fewer rewrites are proved; none becomes wrong.
    """
    try:
        infer_shapes(module, asked)
        _forget_open_shapes(Network.of(module))
    except (ModelError, Unsupported) as error:
        Network.of(module).function.update_function_type()
        return (f"warning: shapes are not all known, so that fewer passes can fire\n{error}",)
    return ()


def _forget_open_shapes(network: Network) -> None:
    """Let no pass see the shapes of caches: a file is for every number of their rows."""
    for op in network.layers:
        for result in op.results:
            if is_open(*(shape_of(result) or ())):
                kind = UnrankedTensorType(element_of(result))
                Rewriter.replace_value_with_new_type(result, kind)
    network.function.update_function_type()


def _handed_on(graph: Graph) -> Iterator[str]:
    """A warning for each type of layers that nobody knows."""
    for layers in unknown_types(graph.layers).values():
        yield warning_of(graph, layers)


def _unseen(module: ModuleOp) -> Iterator[str]:
    """A warning for each layer of an unknown type behind which shapes are not known."""
    for op in Network.of(module).layers:
        if isinstance(op, OpaqueOp) and any(shape_of(result) is None for result in op.results):
            where = f" on line {op.line}" if op.line else ""
            yield (
                f"warning: shapes behind layer {op.layer_name!r} ({op.type_name}){where} are not "
                "known, so that fewer passes can fire"
            )


def _state_shapes(module: ModuleOp, asked: Mapping[str, OpenShape]) -> None:
    """Let Inputs say the shapes that were asked for: rewrites may rest on them."""
    for op in Network.of(module).layers:
        if isinstance(op, InputOp) and len(op.results) == 1 and op.blob_names[0] in asked:
            shape = asked[op.blob_names[0]]
            extents = dict(zip(EXTENT_NAMES[len(shape)], shape, strict=True))
            for axis in ("w", "h", "d", "c"):
                op.properties[axis] = to_attribute("int", extents.get(axis) or 0)


def _return_collected(module: ModuleOp) -> None:
    """Let the inputs that a Noop has no output for be outputs of the network.

    Files collect their heads in a Noop; who runs them extracts each by its name.
    """
    network = Network.of(module)
    outputs = dict(network.outputs)
    for noop in network.layers:
        if not isinstance(noop, NoopOp):
            continue
        for value in noop.operands[len(noop.results) :]:
            maker = value.owner
            if isinstance(maker, Layer) and not isinstance(maker, InputOp):
                if value not in outputs.values():
                    outputs.setdefault(maker.blob_names[maker.results.index(value)], value)
    network.return_only(outputs)


Units: TypeAlias = tuple[tuple[float, str], ...]

_BYTES: Units = ((2**20, "MB"), (2**10, "KB"))
_COUNTS: Units = ((1e6, "M"), (1e3, "k"))


def _summary(before: NetworkCost, after: NetworkCost) -> Iterator[str]:
    def row(what: str, units: Units, *counts: int | None) -> str:
        """Both in the unit that fits the larger."""
        most = max(count or 0 for count in counts)
        shown = ("unknown" if count is None else _in_unit(count, units, most) for count in counts)
        return f"{what:<14} {' -> '.join(shown)}"

    yield f"{'layers':<14} {before.layers} -> {after.layers}"
    yield row("weights", _BYTES, before.weight_bytes, after.weight_bytes)
    yield row("blobs", _BYTES, before.blob_bytes, after.blob_bytes)
    yield row("multiply-adds", _COUNTS, before.multiply_adds, after.multiply_adds)


def _in_unit(count: int, units: Units, most: int) -> str:
    """A count in the largest unit that the larger one fills, else in the smallest."""
    size, name = next((unit for unit in units if unit[0] <= most), units[-1])
    return f"{count / size:.2f} {name}"
