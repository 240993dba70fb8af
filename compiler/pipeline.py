"""The way of a network through the rooms, in order: the page to read first.

read -> infer shapes -> canonicalize -> optimize -> expand -> the structured passes -> plan memory
     -> loops -> llvm -> object

`Compilation` has a method a stage; `passes.py` lists the passes over computations.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.artifact.from_plan import bindings, constants
from ncc.compiler.artifact.objects import Objects
from ncc.compiler.diagnostics import ModelWarning
from ncc.compiler.kept.cache import Cache, cache_of
from ncc.compiler.kept.keys import key_of
from ncc.compiler.kept.recipe import Kept, Recipe, keep
from ncc.compiler.kept.tuned import tuned_schedules
from ncc.compiler.late import LateModel, OpenBinding, are_open, require_shapes
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly, emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.build_network import NetworkLoops, build
from ncc.compiler.loops.launch.static_schedule import statically_scheduled
from ncc.compiler.loops.work import work_of
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.ncnn import input_types as element_types
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.feed import feed
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.ncnn.settle import settle
from ncc.compiler.ncnn.unroll_batches import unroll_batches
from ncc.compiler.options import Options
from ncc.compiler.passes import linalg_passes
from ncc.compiler.plan import Plan
from ncc.compiler.process.python_settings import PYTHON
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.read.plausible import StoredNumbers
from ncc.compiler.read.read_network import read
from ncc.compiler.read.weights import stay_where_named
from ncc.dialects.element import dtype_of
from ncc.dialects.ncnn.layer import Array, Shape
from ncc.dialects.ncnn.network import Network, caches, growing_inputs, settling_inputs
from ncc.dialects.weights.stored import noting
from ncc.runtime.artifact import Artifact, Binding
from ncc.runtime.beside import Beside
from ncc.runtime.errors import InputError
from ncc.runtime.session import Model

AnyPath: TypeAlias = "str | PathLike[str]"
Observer: TypeAlias = Callable[[str, ModuleOp], None]
"""Is shown what a pass, by its name, made of the module."""

OWN = ("ncc.", "xdsl.")
"""Where the operations of a network are declared if none of its layers is from outside."""

STAMPS = "time stamps"
"""The output that tells when each thread was done with each step: no blob can have such a name."""


class Schedulings:
    """One network with any schedules for its kernels; what is the same for all is done once.

    Raises InputError where a shape is open.
    """

    def __init__(self, param: AnyPath, bin: AnyPath | None, options: Options) -> None:
        self._compilation = Compilation(param, bin, options, cache_of(os.environ))
        require_shapes(self._compilation.inputs())
        self._compilation.schedules = {}
        self._compilation.one_by_one = True
        self.steps = self._compilation.loops(*self._compilation.planned).steps

    def model(self, schedules: Mapping[str, str]) -> Model:
        """The network with schedules by the signatures of kernels, the cost model's for others."""
        self._compilation.schedules = schedules
        return Model(self._compilation.artifact())


def stages(
    param: AnyPath, bin: AnyPath | None = None, look: Observer | None = None, **options: object
) -> Iterator[tuple[str, ModuleOp | str | bytes]]:
    """Every level of a compilation in order: (name, module, text or object code).

    The names are those of `--emit`. Modules are shown as they are at that moment: print or clone
    them before asking for the next. look: is shown the module behind every pass. Options as for
    `compile`.
    """
    chosen = Options.of(**options)  # type: ignore[arg-type]
    compilation = Compilation(param, bin, chosen, look=look)
    yield "param", Path(fspath(param)).read_bytes()
    yield from compilation.levels()


class Compilation:
    """One network on its way; every method is one stage and returns what the next one reads.

    with_workers: whether forks of this process make machine code, a core each. look: is shown the
    module behind every pass.
    """

    def __init__(
        self,
        param: AnyPath,
        bin: AnyPath | None,
        options: Options,
        cache: Cache | None = None,
        stopwatch: Stopwatch | None = None,
        with_workers: bool = False,
        look: Observer | None = None,
    ) -> None:
        self.param, self.bin, self.options, self.cache = param, bin, options, cache
        self.schedules: Mapping[str, str] | None = None
        """Texts of schedules by the signatures of kernels; None: those that were tuned."""
        self.one_by_one = False
        """Whether threads share no rounds of several kernels, so that each can be timed."""
        self.stopwatch = stopwatch or Stopwatch()
        self.with_workers = with_workers
        self.look = look
        self.timing = self.stopwatch.timing
        self.context = Context()
        path = default_bin_path(param) if bin is None else fspath(bin)
        self._weights_path = os.path.abspath(path)
        """Wherever this process works later."""
        self.read_from: tuple[int, int] | None = None
        self.warnings: tuple[str, ...] = ()
        self.numbers: tuple[StoredNumbers, ...] = ()
        self.values: Mapping[str, Array] = {}

    @cached_property
    def source(self) -> ModuleOp:
        """The network as it stands in its files, which are read once.

        Warns of what they say in vain.
        """
        seed, outputs = self.options.random_weights, self.options.outputs
        self.read_from = self._weights_state()
        with self.timing("read"):
            found = read(self.param, self.bin, random_weights=seed, outputs=outputs)
        self.warnings, self.numbers = found.warnings, found.numbers
        for text in self.warnings:
            warnings.warn(text, ModelWarning, stacklevel=2)
        feed(found.module, self.options.input_shapes)
        return found.module

    def compiled(self, recipe_key: str | None = None) -> Artifact | LateModel:
        """What a model runs; where a shape is open, the model. The recipe is kept under its key."""
        with noting() as pieces:
            inputs = self.inputs()
            if are_open(inputs):
                self._keep(recipe_key, Kept.of(None, pieces, self.numbers))
                stay_where_named(self.source)
                return LateModel(
                    lambda shapes, values: self.at(shapes, values).artifact(),
                    inputs,
                    Network.of(self.source).output_names,
                    target=self.options.target.name,
                    num_threads=self.options.num_threads,
                )
            recipe, objects = self.recipe(lambda _: self.weights)
        self._keep(recipe_key, Kept.of(recipe, pieces, self.numbers))
        return self._with_code(recipe, objects)

    def for_another(
        self, recipe_key: str, tell: Callable[[Kept], None]
    ) -> tuple[bytes, ...] | None:
        """The code of the model for another process, which packs the weights meanwhile. None where
        a shape is open. The recipe is kept under its key.

        tell: is told how the model is made as soon as that is known.
        """
        with noting() as pieces:
            if are_open(self.inputs()):
                self._keep(recipe_key, Kept.of(None, pieces, self.numbers))
                return None
            recipe, objects = self.recipe(
                lambda recipe: tell(Kept.of(recipe, pieces, self.numbers))
            )
        self._keep(recipe_key, Kept.of(recipe, pieces, self.numbers))
        return objects

    def _keep(self, recipe_key: str | None, kept: Kept) -> None:
        if self.cache is not None and recipe_key is not None and self._is_said_by(recipe_key):
            with self.timing("keep the recipe"):
                keep(self.cache, recipe_key, kept)

    def inputs(self) -> list[OpenBinding]:
        """What is known of the inputs before anything is fed."""
        known = open_shapes(self.source, self.options.input_shapes)
        types = element_types.input_types(self.source, self.options.input_types)
        network = Network.of(self.source)
        growing, emptied, settling = (
            names(network) for names in (growing_inputs, caches, settling_inputs)
        )
        return [
            OpenBinding.of(
                name,
                shape,
                str(dtype_of(types[name])),
                growing=name in growing,
                is_cache=name in emptied,
                settles=name in settling,
            )
            for name, shape in known.items()
        ]

    def _weights_state(self) -> tuple[int, int] | None:
        """What a change of the .bin would change; None where the network has none."""
        if self.options.random_weights is not None:
            return None
        try:
            found = os.stat(self._weights_path)
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size

    def at(self, shapes: Mapping[str, Shape], values: Mapping[str, Array]) -> Compilation:
        """The same network for other shapes of its inputs; its files are not read again.

        values: of the inputs, int32, that decide shapes by them.

        Raises InputError where the .bin, from which weights are packed, is not what it was.
        """
        types = {**self.options.input_types, **dict.fromkeys(values, "int32")}
        options = replace(self.options, input_shapes=shapes, input_types=types)
        other = Compilation(self.param, self.bin, options, self.cache, self.stopwatch)
        other.source, other.values = self.source, values
        other._weights_path = self._weights_path
        if self._weights_state() != self.read_from:
            raise InputError(
                "a new shape needs the weights, whose file has changed since the model was made: "
                "compile the network again"
            )
        return other

    @contextmanager
    def changing(self, module: ModuleOp, name: str) -> Iterator[None]:
        """A pass over a module, by its name: timed, and shown to who looks on."""
        with self.timing(name):
            yield
        if self.look is not None:
            self.look(name, module)

    def network(self) -> ModuleOp:
        """The ncnn level, shapes known, canonical from -O1 on."""
        options = self.options
        module = self.source.clone()
        if self.look is not None:
            self.look("read", module)
        with self.changing(module, "infer shapes"):
            settle(module, self.values)
            unroll_batches(module, options.input_shapes)
            infer_shapes(module, options.input_shapes, options.input_types)
        if options.opt_level >= 1:
            with self.changing(module, "canonicalize"):
                canonicalize(module, exact=options.opt_level == 1)
        if options.opt_level >= 2:
            with self.changing(module, "optimize"):
                optimize_module(module)
        return module

    def structured(self, module: ModuleOp) -> ModuleOp:
        """The linalg level: linalg.generic on tensors, outlined into groups."""
        for one in linalg_passes(self.options):
            with self.changing(module, one.name):
                one.apply(self.context, module)
        return module

    def plan(self, module: ModuleOp) -> Plan:
        """Where every value lives."""
        with self.timing("plan memory"):
            cache = 0 if self.one_by_one else self.options.target.core.l2_bytes
            return plan(module, self.options.num_threads, cache)

    def loops(self, module: ModuleOp, planned: Plan) -> NetworkLoops:
        """The loops level: a function a kernel, and the entry point."""
        inputs = len(network_of(module).body.block.args)
        options = self.options
        with self.timing("schedule kernels"):
            schedules = self.schedules
            if schedules is None:
                schedules = tuned_schedules(os.environ, options.target) if options.tuned else {}
            threads = options.num_threads
            loops = build(planned, options.target, inputs, options.timestamps, schedules, threads)
            return statically_scheduled(loops, threads)

    def levels(self) -> Iterator[tuple[str, ModuleOp | str | bytes]]:
        """Every level as one module, whatever the cache holds."""
        target = self.options.target
        module = self.network()
        yield "ncnn", module
        module = self.structured(module)
        planned = self.plan(module)
        yield "linalg", module
        module = self.loops(module, planned).module()
        yield "loops", module
        text = emit_llvm(lower(module, target), target, threads_text(declare_run=False))
        yield "llvm", text
        yield "asm", emit_assembly(text, target)
        yield "obj", emit_object(text, target)

    def artifact(self) -> Artifact:
        """The compiled model, ready to be run or saved."""
        return self._with_code(*self.recipe(lambda _: self.weights))

    def _with_code(self, recipe: Recipe, objects: tuple[bytes, ...]) -> Artifact:
        """The model of a recipe with its code and weights."""
        return replace(recipe.model, objects=objects, weights=self.weights)

    def recipe(self, beside: Callable[[Recipe], object]) -> tuple[Recipe, tuple[bytes, ...]]:
        """All of the model but its weights: how it is made, and the code for that.

        beside: is called while kernels are made, by a thread: weights are packed without the
        interpreter's lock for the most part.
        """
        with PYTHON.tuned():
            module, planned = self.planned
            loops = self.loops(module, planned)
            objects = Objects(loops, self.options.target, self.cache, self.stopwatch)
            # No other thread may be at work when the process is forked.
            workers = objects.made_by_workers() if self.with_workers else nullcontext()
            with workers:
                recipe = self._recipe(module, planned, loops, objects.keys)
                weights = Beside(lambda: beside(recipe))
                code = objects.all()
                with self.timing("wait for weights"):
                    weights.result()
        return recipe, code

    @cached_property
    def planned(self) -> tuple[ModuleOp, Plan]:
        """The linalg level, and where its values live."""
        module = self.structured(self.network())
        return module, self.plan(module)

    @cached_property
    def weights(self) -> NDArray[np.uint8]:
        """All constants in one blob."""
        with self.timing("pack weights, in a thread of its own"):
            return constants(self.planned[1]).packed()

    def _recipe(
        self, module: ModuleOp, planned: Plan, loops: NetworkLoops, keys: tuple[str, ...]
    ) -> Recipe:
        inputs, outputs = bindings(module, planned)
        options = self.options
        info: dict[str, object] = {
            "model": Path(fspath(self.param)).name,
            "opt_level": options.opt_level,
            "kernels": len(loops.units),
            "steps": [[step.kernel, list(step.layers)] for step in loops.steps],
        }
        if options.timestamps:
            outputs += (Binding(STAMPS, (len(loops.steps) + 1,), "int64"),)
            info["work"] = [vars(work_of(step)) for step in loops.steps]
        held = constants(planned)
        model = Artifact(
            objects=(),
            weights=b"",
            arena_bytes=planned.arena_bytes,
            inputs=inputs,
            outputs=outputs,
            features=options.target.features,
            target=options.target.name,
            info=info,
            threads=options.num_threads,
            tables=held.tables(),
        )
        return Recipe(model, keys, held)

    def _is_said_by(self, recipe_key: str) -> bool:
        """Whether all is said by the key, and by the .bin: no layer is from outside, no file has
        changed meanwhile, and a later compilation has nothing to warn of.
        """
        own = all(type(op).__module__.startswith(OWN) for op in self.source.walk())
        files = self.read_from, key_of(self.param, self.bin, self.options)
        return own and not self.warnings and files == (self._weights_state(), recipe_key)
