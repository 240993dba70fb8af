"""Gathers the facts of a report: asks the optimizer, a compilation, `bench` and `verify`.

Each part of a report stands alone. If one of them is refused, as where layers cannot be compiled,
the report says why (`Missing`), and has the others.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import starmap
from typing import TypeVar

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug, ModelError, ModelWarning, NccError, Unsupported
from ncc.compiler.driver.tuned import schedules_for
from ncc.compiler.explain_linalg import Decided, decided_on
from ncc.compiler.loops.kernels_text import KernelsText
from ncc.compiler.measure.bench import Benchmark, bench
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.ncnn.sized_shapes import default_hint
from ncc.compiler.network_files import read_network
from ncc.compiler.optimizer import NO_WEIGHTS, optimize_network
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.progress import tell
from ncc.compiler.read.read_network import read
from ncc.compiler.report.compiled import gather_compiled
from ncc.compiler.report.facts import Facts, Kernel, Memory, Missing, Reason, Results, Step, Time
from ncc.compiler.report.layers import Layers, before_and_after, blob_of, layers_of, with_steps
from ncc.compiler.report.outcomes import of_layers, of_onnx, time_of
from ncc.compiler.report.request import Request, about_machine
from ncc.compiler.report.steps import kernels_of, memory_of, steps_of, with_times
from ncc.compiler.verification.onnx_nodes import verify_onnx
from ncc.compiler.verification.verify import verify
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network, implied_inputs
from ncc.dialects.shapes import OpenShape, Shape, shown
from ncc.dialects.size import begun, is_open
from ncc.runtime.file_kinds import is_compiled, is_onnx

T = TypeVar("T")
LAYERS, KERNELS = "layers and rewrites", "kernels and memory plan"
IMAGE = (None, None, None)
"""The shape of an input of which not even the rank is known, if the layers take it."""

TIME, RESULTS = "time", "results"
"""The parts of a report that there may not be."""


@dataclass(frozen=True)
class Compiled:
    """What a compilation makes."""

    layers: Layers
    decided: Decided
    steps: tuple[Step, ...]
    kernels: tuple[Kernel, ...]
    memory: Memory


def gather(request: Request) -> Facts:
    """The facts of a network in a .param or an .onnx, or of a compiled file.

    Raises what reading the files raises; what else is refused is `missing`.
    """
    if is_compiled(os.fspath(request.param)):
        return gather_compiled(request)
    with _noting_warnings() as caught:
        return _Gathering(request, caught).facts()


class _Gathering:
    """What is found so far. caught: the warnings so far."""

    def __init__(self, request: Request, caught: Sequence[warnings.WarningMessage]) -> None:
        self.request, self.caught = request, caught
        self.notices: list[str] = []
        self.missing: list[Missing] = []
        self.source = _source(request)
        self.hints = _hints(self.source, request)
        asked = request.options.get("input_shapes") or {}
        self.options = {**request.options, "input_shapes": {**asked, **self.hints}}
        self.interface = self.source
        """The module whose inputs and outputs are shown."""

    def facts(self) -> Facts:
        """Everything, part by part."""
        tell("explaining the layers")
        file, now, rewrites = self._layers()
        tell("compiling")
        made = self._part(KERNELS, self._compiled)
        steps: tuple[Step, ...] = ()
        time: Time | None = None
        results: Results | None = None
        if made is not None:
            steps, now = made.steps, now or made.layers
            steps, time = self._timed(steps)
            results = self._part(RESULTS, self._results) if self.request.compared else None
        network = Network.of(self.interface)
        return Facts(
            model=os.path.basename(os.fspath(self.request.param)),
            about=self._about(),
            inputs=tuple(starmap(blob_of, network.inputs.items())),
            outputs=tuple(starmap(blob_of, network.outputs.items())),
            file=with_steps(file, steps, {}),
            now=with_steps(now, steps, {} if made is None else _by_layer(made.decided)),
            rewrites=rewrites,
            steps=steps,
            kernels=() if made is None else made.kernels,
            memory=None if made is None else made.memory,
            time=time,
            results=results,
            notices=tuple(dict.fromkeys([*self.notices, *_notices(self.caught)])),
            missing=tuple(self.missing),
        )

    def _part(self, what: str, make: Callable[[], T]) -> T | None:
        """A part of the report; None if the network has none, with the reason in `missing`."""
        try:
            return make()
        except CompilerBug:
            raise
        except NccError as error:
            self.missing.append(Missing(what, str(error)))
            return None

    def _layers(self) -> tuple[Layers, Layers, tuple[str, ...]]:
        """The layers before and after optimization, and the rewrites in order."""
        seed = self.options.get("random_weights")
        bin = self.request.bin if seed is None else NO_WEIGHTS
        shapes = self.options["input_shapes"]
        done = self._part(
            LAYERS,
            lambda: optimize_network(self.request.param, bin, input_shapes=shapes),
        )
        if done is None:
            return layers_of(self.source), (), ()
        self.notices += done.warnings
        self.interface = done.original
        file, now = before_and_after(done, self.request.param)
        return file, now, tuple(map(str, done.rewrites))

    def _compiled(self) -> Compiled:
        """One compilation, down to the kernels."""
        options = Options.of(**self.options)
        param, bin = self.request.param, self.request.bin
        compilation = Compilation(param, bin, options, schedules=schedules_for(options))
        module = compilation.network()
        layers = layers_of(module)
        decided = decided_on(compilation, module)
        planned = compilation.plan(module)
        loops = compilation.loops(module, planned)
        kernels = kernels_of(KernelsText(loops, options.target))
        return Compiled(layers, decided, steps_of(loops), kernels, memory_of(planned))

    def _timed(self, steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], Time | None]:
        """The steps with their times, and the time of a run."""
        measured = self._part(TIME, self._measured) if self.request.measured else None
        if measured is None:
            return steps, None
        return with_times(steps, measured.steps), time_of(measured)

    def _measured(self) -> Benchmark:
        request = self.request
        return bench(
            request.param,
            request.bin,
            feeds=request.feeds,
            seed=request.seed,
            value_range=request.value_range,
            rounds=request.rounds,
            **self.options,
        )

    def _results(self) -> Results:
        request = self.request
        options = {**self.options, "seed": request.seed, "value_range": request.value_range}
        if is_onnx(request.param):
            return of_onnx(verify_onnx(request.param, feeds=request.feeds, **options))
        return of_layers(verify(request.param, request.bin, feeds=request.feeds, **options))

    def _about(self) -> dict[str, str]:
        """The machine, versions and options."""
        options = Options.of(**self.options)
        seed = options.random_weights
        shapes = {name: shown(shape) for name, shape in self.options["input_shapes"].items()}
        found = {
            "optimization level": f"-O{options.opt_level}",
            "target": options.target.name,
            "threads": str(options.num_threads),
            "shapes given": ", ".join(f"{name}={shape}" for name, shape in shapes.items()),
            "shapes for open extents": ", ".join(
                f"{name}={shown(shape)}" for name, shape in self.hints.items()
            ),
            "weights": "of the file" if seed is None else f"made up, from seed {seed}",
        }
        given = {name: text for name, text in found.items() if text}
        return {**given, **about_machine()}


def _source(request: Request) -> ModuleOp:
    """The network as its file has it. Layers of unknown types are no error yet."""
    if is_onnx(request.param):
        return read_network(request.param, request.bin).module
    seed = request.options.get("random_weights")
    return read(request.param, request.bin, random_weights=seed, opaque=True).module


def _hints(source: ModuleOp, request: Request) -> dict[str, Shape]:
    """Shapes in place of open ones, by the names of inputs: a report is about one size."""
    asked = request.options.get("input_shapes") or {}
    implied = implied_inputs(Network.of(source))
    hints = {}
    unknown = []
    for name, shape in open_shapes(source, asked).items():
        if name in request.feeds or name in implied:
            continue
        if shape is None:
            unknown.append(name)
        elif None in shape:
            batch = is_onnx(request.param) and shape[0] is None
            hints[name] = (1, *default_hint(shape[1:])) if batch else default_hint(shape)
    images = dict.fromkeys(unknown, default_hint(IMAGE))
    fits = bool(images) and _fit(source, {**asked, **hints, **images})
    told = {**hints, **images} if fits else hints
    fed = {name: np.shape(array) for name, array in request.feeds.items() if name in implied}
    return {**told, **fed, **_begun(source, {**asked, **told, **fed})}


def _begun(source: ModuleOp, shapes: Mapping[str, OpenShape]) -> dict[str, Shape]:
    """The shapes of caches, and of masks over them, before a first run."""
    module = source.clone()
    network = Network.of(module)
    try:
        infer_shapes(module, shapes)
    except (ModelError, Unsupported):
        return {}
    found = {name: shape_of(network.inputs[name]) or () for name in implied_inputs(network)}
    return {name: begun(shape) for name, shape in found.items() if is_open(*shape)}


def _fit(source: ModuleOp, shapes: Mapping[str, OpenShape]) -> bool:
    """Whether all layers take these shapes."""
    try:
        infer_shapes(source.clone(), shapes)
    except (ModelError, Unsupported):
        return False
    return True


def _by_layer(decided: Decided) -> dict[str, list[Reason]]:
    """The decisions about the linalg operations of each layer."""
    found: dict[str, list[Reason]] = {}
    for one in decided.decisions:
        found.setdefault(one.layers, []).append(Reason(one.pass_name, one.outcome))
    return found


@contextmanager
def _noting_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Collects all warnings of a `with` block. Those that are not about the network are shown when
    it ends.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        yield caught
    for one in caught:
        if not issubclass(one.category, ModelWarning):
            warnings.showwarning(one.message, one.category, one.filename, one.lineno)


def _notices(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """What the compiler warns of."""
    return [str(one.message) for one in caught if issubclass(one.category, ModelWarning)]
