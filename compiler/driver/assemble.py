"""Makes a model, or its thin model, from a compilation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.artifact.from_plan import (
    TIMESTAMPS,
    TRACE,
    bindings,
    constants,
    input_names,
    shapes,
)
from ncc.compiler.artifact.size_program import sizes_of
from ncc.compiler.driver.cache import Cache
from ncc.compiler.driver.models import Entry
from ncc.compiler.driver.objects import Objects
from ncc.compiler.driver.open_binding import OpenBinding, are_open
from ncc.compiler.driver.python_settings import PYTHON
from ncc.compiler.driver.specialise import OpenModel
from ncc.compiler.driver.thin_model import Made, ThinModel
from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.loops.work import work_of
from ncc.compiler.ncnn.input_types import input_types
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.ncnn.ranges import ranges_of
from ncc.compiler.network_files import files_beside
from ncc.compiler.pipeline import Compilation
from ncc.compiler.plan import Plan
from ncc.compiler.read.weights import stay_where_named
from ncc.dialects.element import dtype_of
from ncc.dialects.ncnn.network import Network, caches, implied_inputs, settling_inputs
from ncc.dialects.onnx.plumbing import OnnxInputOp
from ncc.dialects.rt import TRACE_WORDS
from ncc.dialects.shapes import OpenShape, Shape
from ncc.dialects.size import Assumption, assuming, is_open
from ncc.dialects.weights.stored import Piece, noting
from ncc.runtime.artifact import Artifact, Binding, Weights
from ncc.runtime.memory_files import shown_path
from ncc.runtime.sizes import Sizes

OWN = ("ncc.", "xdsl.")
"""Where the operations of a network are declared if none of its layers is from outside."""


def compiled(
    compilation: Compilation, cache: Cache | None, with_workers: bool, pack_up_to: float
) -> Made | OpenModel:
    """The model of a network; where a shape is open, one that is compiled when it is called, unless
    code for all shapes is wanted ahead.

    with_workers: whether forks of this process make code. pack_up_to: bytes of weights that are
    packed meanwhile.
    """
    with noting() as pieces:
        inputs = open_inputs(compilation)
        is_ahead = compilation.options.ahead and not any(map(OpenBinding.needs_a_call, inputs))
        if are_open(inputs) and not is_ahead:
            return _open_model(compilation, inputs, cache, pieces)
        weights: list[Weights] = []

        def pack(thin: ThinModel) -> None:
            if thin.constants.size <= pack_up_to:
                with compilation.timing("pack weights"), noting():  # which is no look at them
                    weights.append(thin.constants.packed())

        thin = assemble(compilation, cache, with_workers, pack).looking_at(
            pieces, compilation.numbers
        )
    model = thin.artifact(weights[0]) if weights else None
    return Made(thin, model, _is_by_files_alone(compilation))


def open_inputs(compilation: Compilation) -> list[OpenBinding]:
    """The known shapes and types of the inputs."""
    options, network = compilation.options, Network.of(compilation.source)
    known = open_shapes(compilation.source, options.input_shapes)
    types = input_types(compilation.source, options.input_types)
    ranges = ranges_of(compilation.source, options)
    implied, emptied, settling = (
        names(network) for names in (implied_inputs, caches, settling_inputs)
    )
    return [
        OpenBinding.of(
            name,
            shape,
            str(dtype_of(types[name])),
            implied=name in implied and name not in options.ranges,
            is_cache=name in emptied,
            settles=name in settling,
            has_batch=isinstance(network.inputs[name].owner, OnnxInputOp),
            ranges=ranges.get(name, ()),
        )
        for name, shape in known.items()
    ]


def _open_model(
    compilation: Compilation,
    inputs: Sequence[OpenBinding],
    cache: Cache | None,
    pieces: Iterable[Piece],
) -> OpenModel:
    """pieces: of the .bin, that were read with the network."""
    stay_where_named(compilation.source)
    kept = OpenVersions(compilation, cache, tuple(pieces))
    return OpenModel(
        lambda shapes, values: artifact_of(compilation.at(shapes, values), cache),
        kept.artifact,
        lambda shapes, values: compilation.at(shapes, values).inferred(),
        inputs,
        Network.of(compilation.source).output_names,
        target=compilation.options.target.name,
        num_threads=compilation.options.num_threads,
    )


class OpenVersions(NamedTuple):
    """Code for all shapes of the inputs: one version for each hint, which the cache keeps."""

    compilation: Compilation
    cache: Cache | None
    pieces: tuple[Piece, ...]

    def artifact(self, shapes: Mapping[str, OpenShape], hints: Mapping[str, Shape]) -> Artifact:
        """The version for shapes that are open, with the costs of the hints."""
        compilation = self.compilation.at(shapes, hints=hints)
        place = Entry.of(self.cache, compilation.param, compilation.bin, compilation.options)
        entry = place if _is_by_files_alone(self.compilation) else None
        kept = entry.artifact() if entry is not None else None
        if kept is not None:
            return kept
        with noting() as pieces:
            thin = assemble(compilation, self.cache)
        artifact = thin.artifact()
        if entry is not None and compilation.weights_state() == compilation.read_from:
            looked = thin.looking_at({*self.pieces, *pieces}, compilation.numbers)
            entry.keep(looked, artifact)
        return artifact


def _is_by_files_alone(compilation: Compilation) -> bool:
    """Whether no layer is from outside, no weights have changed meanwhile, and nothing was
    ignored.
    """
    own = all(type(op).__module__.startswith(OWN) for op in compilation.source.walk())
    unchanged = compilation.weights_state() == compilation.read_from
    unchanged &= files_beside(compilation.source, compilation.param) == compilation.files_beside
    return own and unchanged and not compilation.warnings


def assemble(
    compilation: Compilation,
    cache: Cache | None = None,
    with_workers: bool = False,
    meanwhile: Callable[[ThinModel], object] = lambda _: None,
) -> ThinModel:
    """The thin model of a network, with code.

    with_workers: whether forks of this process make code. meanwhile: is called while they do, or
    before this process makes it.
    """
    with PYTHON.tuned():
        with assuming() as assumed:
            module, planned = compilation.planned
            loops = compilation.loops(module, planned)
        objects = Objects(loops, compilation.options.target, cache, compilation.stopwatch)
        with objects.made_by_workers() if with_workers else nullcontext():
            thin = _described(compilation, module, planned, loops, objects.keys)
            thin = thin.with_sizes(_sizes(compilation, module, planned, loops, assumed))
            meanwhile(thin)
            return thin.with_code(objects.all())


def artifact_of(compilation: Compilation, cache: Cache | None = None) -> Artifact:
    """The compiled model, ready to be run or saved; this process makes it."""
    return assemble(compilation, cache).artifact()


def _sizes(
    compilation: Compilation,
    module: ModuleOp,
    planned: Plan,
    loops: NetworkLoops,
    assumed: Iterable[Assumption],
) -> Sizes | None:
    """What the shapes of a call decide, if some are open."""
    inputs, outputs = shapes(module)
    if not any(is_open(*shape) for shape in inputs):
        return None
    if compilation.options.timestamps:
        outputs.append(_of_timestamps(loops))
    if compilation.options.trace:
        outputs.append(_of_trace(loops))
    opened = [compilation.opened.get(name, ()) for name in input_names(module)]
    return sizes_of(opened, inputs, outputs, planned, loops, assumed)


def _of_timestamps(loops: NetworkLoops) -> tuple[int, ...]:
    """The shape of the timestamps: one at the start, and one behind each step."""
    return (len(loops.steps) + 1,)


def _of_trace(loops: NetworkLoops) -> tuple[int, ...]:
    """The shape of a trace: a row for each time that a thread takes chunks."""
    return (loops.chunks, TRACE_WORDS)


def _described(
    compilation: Compilation,
    module: ModuleOp,
    planned: Plan,
    loops: NetworkLoops,
    keys: tuple[str, ...],
) -> ThinModel:
    inputs, outputs = bindings(module, planned, compilation.opened)
    batch, options = compilation.batch, compilation.options
    info: dict[str, object] = {
        "model": Path(shown_path(compilation.param)).name,
        "opt_level": options.opt_level,
        "kernels": len(loops.units),
        "steps": [[step.kernel, list(step.layers)] for step in loops.steps],
    }
    if options.timestamps:
        outputs += (Binding(TIMESTAMPS, _of_timestamps(loops), "int64"),)
        info["work"] = [work_of(step)._asdict() for step in loops.steps]
    if options.trace:
        outputs += (Binding(TRACE, _of_trace(loops), "int64"),)
    weights = constants(planned)
    beside = tuple((path, size) for path, (_, size) in compilation.files_beside.items())
    model = Artifact(
        objects=(),
        weights=b"",
        arena_bytes=planned.arena_bytes,
        inputs=tuple(binding.of_batch(batch) for binding in inputs),
        outputs=tuple(binding.of_batch(batch) for binding in outputs),
        features=options.target.features,
        target=options.target.name,
        info=info,
        threads=options.num_threads,
        tables=weights.tables(),
        by_sample=batch is not None,
    )
    return ThinModel(model, keys, weights, beside=beside)
