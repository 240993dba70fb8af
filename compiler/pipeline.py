"""All stages of a compilation, in order: the file to read first.

read -> infer shapes -> canonicalize -> optimize -> convert to linalg -> passes of linalg
     -> plan memory -> loops -> llvm -> object

`Compilation` has one method for each stage; `passes.py` lists the passes of linalg. Methods import
what only an .onnx needs: other networks do not wait for it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, Unpack

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from ncc.compiler.diagnostics import CompilerBug, ModelError, ModelWarning, Unsupported
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly, emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.loops.build_network import NetworkLoops, build
from ncc.compiler.loops.kernels_text import KernelsText
from ncc.compiler.loops.static_schedule import statically_scheduled
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.feed import feed
from ncc.compiler.ncnn.fitting_hints import with_fitting_hints
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.narrowed_ranges import with_ranges
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.ncnn.settle import settle
from ncc.compiler.ncnn.sized_shapes import (
    has_sizes,
    sized_shapes,
    with_equalities,
    with_own_extents,
)
from ncc.compiler.ncnn.take_pixels import return_pixels, take_pixels
from ncc.compiler.ncnn.unroll_batches import unroll_batches
from ncc.compiler.network_files import files_beside, read_network, weights_path
from ncc.compiler.options import Compiling, Options
from ncc.compiler.passes import linalg_passes
from ncc.compiler.plan import Plan
from ncc.compiler.read.plausible import StoredNumbers
from ncc.compiler.stopwatch import Stopwatch
from ncc.dialects.ncnn.layer import Array, Shape
from ncc.dialects.ncnn.network import Network
from ncc.dialects.shapes import OpenShape
from ncc.dialects.size import Assumption, NeedsNumbers, assume_all, assuming
from ncc.runtime.errors import InputError
from ncc.runtime.file_kinds import is_onnx
from ncc.runtime.manifest import MOST_BYTES
from ncc.runtime.memory_files import FileLike, file_of

Observer: TypeAlias = Callable[[str, ModuleOp], None]
"""Called after each pass with its name and the module."""

Schedules: TypeAlias = Mapping[str, str]
"""Texts of schedules by the signatures of kernels; the cost model chooses for others."""

Stage: TypeAlias = ModuleOp | KernelsText | str | bytes
"""What a level shows of itself."""

NO_SCHEDULES: Schedules = MappingProxyType({})
NOTHING: Mapping[str, Any] = MappingProxyType({})


def stages(
    param: FileLike,
    bin: FileLike | None = None,
    observe: Observer | None = None,
    schedules_for: Callable[[Options], Schedules] = lambda _: NO_SCHEDULES,
    **options: Unpack[Compiling],
) -> Iterator[tuple[str, Stage]]:
    """Every level of a compilation in order: (name, module, text or object code).

    The names are those of `--emit`. A later stage may change a module: print or clone
    it before you ask for the next level. observe: is called after each pass. schedules_for: returns
    schedules of kernels. Options as for `compile`.
    """
    chosen = Options.of(**options)
    compilation = Compilation(param, bin, chosen, schedules=schedules_for(chosen), observe=observe)
    yield "param", Path(compilation.param).read_bytes()
    yield from compilation.levels()


def kernels_of(
    param: FileLike,
    bin: FileLike | None = None,
    schedules_for: Callable[[Options], Schedules] = lambda _: NO_SCHEDULES,
    **options: Unpack[Compiling],
) -> KernelsText:
    """The kernels of a network. Options as for `compile`, schedules_for as for `stages`."""
    chosen = Options.of(**options)
    compilation = Compilation(param, bin, chosen, schedules=schedules_for(chosen))
    return KernelsText(compilation.loops(*compilation.planned), chosen.target)


def _are_apart(module: ModuleOp, shapes: Mapping[str, OpenShape], batch: int) -> bool:
    """Whether samples of a batch are computed apart. The module is changed."""
    from ncc.compiler.onnx.samples import are_apart, with_samples

    with assuming(kept=False) as assumed:
        try:
            infer_shapes(module, with_samples(shapes))
        except (ModelError, Unsupported):
            return False
    return are_apart(module, assumed, batch)


def _taken_by(
    infer: Callable[[Mapping[str, OpenShape]], None], shapes: Mapping[str, OpenShape]
) -> Iterable[Assumption]:
    """What is taken for granted that shapes are inferred."""
    with assuming(kept=False) as taken:
        infer(shapes)
    return taken


class Compilation:
    """The compilation of one network. Each method is a stage and returns the input of the next one.

    schedules: of kernels; the cost model chooses for all others. one_by_one: whether each call is a
    step of its own, also those of loops, so that it can be timed. observe: called after each pass.
    """

    def __init__(
        self,
        param: FileLike,
        bin: FileLike | None,
        options: Options,
        *,
        schedules: Schedules = NO_SCHEDULES,
        one_by_one: bool = False,
        stopwatch: Stopwatch | None = None,
        observe: Observer | None = None,
    ) -> None:
        self.param = file_of(param, "the .param")
        self.bin = None if bin is None else file_of(bin, "the .bin")
        self.options = options
        self.schedules, self.one_by_one = schedules, one_by_one
        self.stopwatch = stopwatch or Stopwatch()
        self.observe = observe
        self.timing = self.stopwatch.timing
        self.context = Context()
        self._weights_path = os.path.abspath(self.bin or weights_path(self.param))
        """Wherever this process works later."""
        self.read_from: tuple[int, int] | None = None
        self.files_beside: Mapping[str, tuple[int, int]] = {}
        """The files besides the .onnx that weights lie in, as they were when it was read."""
        self.warnings: tuple[str, ...] = ()
        self.numbers: tuple[StoredNumbers, ...] = ()
        self.values: Mapping[str, Array] = {}
        self.batch: int | None = None
        """The samples of a call, if code is for one of them; `OPEN` for any number."""
        self.opened: Mapping[str, OpenShape] = {}
        """The shapes of inputs with a size for each extent that is open."""

    @cached_property
    def source(self) -> ModuleOp:
        """The network as its files describe it; they are read once.

        Warns about fields that are ignored.
        """
        seed, outputs = self.options.random_weights, self.options.outputs
        self.read_from = self.weights_state()
        with self.timing("read"):
            found = read_network(self.param, self.bin, random_weights=seed, outputs=outputs)
        self.warnings, self.numbers = found.warnings, found.numbers
        self.files_beside = files_beside(found.module, self.param)
        for text in self.warnings:
            warnings.warn(text, ModelWarning, stacklevel=2)
        feed(found.module, self.options.input_shapes)
        take_pixels(found.module, self.options.inputs)
        return_pixels(found.module, self.options.pixel_outputs)
        return found.module

    def weights_state(self) -> tuple[int, int] | None:
        """The time and the size of the file of weights; None where the network has none."""
        if self.options.random_weights is not None:
            return None
        try:
            found = os.stat(self._weights_path)
        except FileNotFoundError:
            return None
        return found.st_mtime_ns, found.st_size

    def at(
        self,
        shapes: Mapping[str, OpenShape],
        values: Mapping[str, Array] = NOTHING,
        hints: Mapping[str, Shape] = NOTHING,
    ) -> Compilation:
        """The same network for other shapes of its inputs; its files are not read again.

        values: of the inputs that decide shapes by them. hints: the shapes for which the costs of
        open ones are compared.

        Raises InputError where the .bin, from which weights are packed, is not what it was.
        """
        settled = [name for name, array in values.items() if array.dtype == "int32"]
        types = {**self.options.input_types, **dict.fromkeys(settled, "int32")}
        options = replace(self.options, input_shapes=shapes, hints=hints, input_types=types)
        other = Compilation(
            self.param, self.bin, options, schedules=self.schedules, stopwatch=self.stopwatch
        )
        other.source, other.values = self.source, values
        other._weights_path, other.read_from = self._weights_path, self.read_from
        other.files_beside = self.files_beside
        if self.weights_state() != self.read_from:
            raise InputError(
                "a new shape needs the weights, whose file has changed since the model was made: "
                "compile the network again"
            )
        return other

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Times what runs in a `with` block.

        Raises Unsupported where it needs numbers, and shapes are open.
        """
        with self.timing(name):
            try:
                yield
            except NeedsNumbers as error:
                what, nearest = f"open sizes in {name}: {error}", "one compilation for each size"
                raise Unsupported(what, nearest=nearest) from error

    @contextmanager
    def changing(self, module: ModuleOp, name: str) -> Iterator[None]:
        """Runs a pass in a `with` block as a stage, then calls the observer with its name.

        Raises CompilerBug where the pass leaves IR that does not verify, if the options want that
        to be found.
        """
        with self.stage(name):
            yield
        if self.options.verify_each:
            try:
                module.verify()
            except VerifyException as error:
                raise CompilerBug(f"{name} leaves IR that does not verify: {error}") from error
        if self.observe is not None:
            self.observe(name, module)

    def network(self) -> ModuleOp:
        """The ncnn level with shapes; canonicalized from -O1 on, optimized from -O2 on."""
        options, module = self.options, self.inferred()
        if options.opt_level >= 1:
            if is_onnx(self.param):
                from ncc.compiler.onnx.convert_to_ncnn import convert_to_ncnn

                with self.changing(module, "convert onnx to ncnn"):
                    convert_to_ncnn(module)
            with self.changing(module, "canonicalize"):
                canonicalize(module, exact=options.opt_level == 1)
        if options.opt_level >= 2:
            with self.changing(module, "optimize"):
                optimize_module(module)
        return module

    def inferred(self) -> ModuleOp:
        """The network with shapes. Extents that nobody says are sizes.

        Raises ModelError where layers do not take the shapes of the inputs.
        """
        options = self.options
        module = self.source.clone()
        if self.observe is not None:
            self.observe("read", module)
        shapes = options.input_shapes if self.values else sized_shapes(module, options)
        shapes = self._of_one_sample(module, shapes)
        known: Mapping[str, OpenShape] | None = None
        if has_sizes(shapes):
            with self.stage("infer shapes"):
                inferred, known, assumed = self._inferred(module, shapes)
            self.opened, shapes = known, with_equalities(known, assumed)
            # What is inferred has sizes in place of arithmetic on shapes: it is not for others.
            module = inferred if shapes == known else module
        with self.changing(module, "infer shapes"):
            settle(module, self.values)
            if shapes != known:
                self._infer(module, shapes)
            self.opened = with_own_extents(self.opened, Network.of(module))
        return module

    def _of_one_sample(
        self, module: ModuleOp, shapes: Mapping[str, OpenShape]
    ) -> Mapping[str, OpenShape]:
        """The shapes with one sample in place of a batch whose samples are computed apart."""
        options = self.options
        wanted = is_onnx(self.param) and options.by_sample and options.opt_level >= 1
        if not wanted or options.timestamps or options.inputs or self.values:
            return shapes
        from ncc.compiler.onnx.samples import batch_of

        known = open_shapes(module, shapes)
        batch, given = batch_of(known), {name: shape for name, shape in known.items() if shape}
        if batch is None or not _are_apart(module.clone(), given, batch):
            return shapes
        self.batch = batch
        return {name: (1, *shape[1:]) for name, shape in given.items()}

    def _inferred(
        self, module: ModuleOp, shapes: Mapping[str, OpenShape]
    ) -> tuple[ModuleOp, Mapping[str, OpenShape], Iterable[Assumption]]:
        """The module with shapes of sizes, those of its inputs, and what it takes that they are
        inferred; hints that nobody has given may change, and ranges become narrower.
        """
        inferred = module

        def infer(tried: Mapping[str, OpenShape]) -> None:
            nonlocal inferred
            inferred = module.clone()
            self._infer(inferred, tried)

        if self.options.hints:
            opened, taken = shapes, _taken_by(infer, shapes)
        else:
            opened, taken = with_fitting_hints(shapes, infer)
        narrowed = with_ranges(opened, taken)
        if narrowed != opened:
            opened, taken = narrowed, _taken_by(infer, narrowed)
        assume_all(taken)
        return inferred, opened, taken

    def _infer(self, module: ModuleOp, shapes: Mapping[str, OpenShape]) -> None:
        unroll_batches(module, shapes)
        infer_shapes(module, shapes, self.options.input_types)

    def structured(self, module: ModuleOp) -> ModuleOp:
        """The linalg level: linalg.generic on tensors, outlined into groups."""
        for one in linalg_passes(self.options):
            with self.changing(module, one.name):
                one.apply(self.context, module)
        return module

    def plan(self, module: ModuleOp) -> Plan:
        """The memory plan: the subview of every value.

        Raises InputError where a run needs more memory than a process has addresses for.
        """
        with self.stage("plan memory"):
            target, threads = self.options.target, self.options.num_threads
            found = plan(module, threads, target.core.l2_bytes, target.costs)
            if found.arena_bytes >= MOST_BYTES:
                raise InputError(
                    f"no memory holds what a run computes, which would be {found.arena_bytes:,} "
                    "bytes: give smaller shapes"
                )
            return found.unrolled() if self.one_by_one else found

    def loops(self, module: ModuleOp, planned: Plan) -> NetworkLoops:
        """The loops level: one function for each kernel, and the entry point."""
        inputs = len(network_of(module).body.block.args)
        options = self.options
        with self.stage("schedule kernels"):
            threads, timestamps = options.num_threads, options.timestamps
            loops = build(
                planned,
                options.target,
                inputs,
                timestamps,
                self.schedules,
                threads,
                options.trace,
            )
            return statically_scheduled(loops, threads, options.target.costs.threads)

    def levels(self) -> Iterator[tuple[str, Stage]]:
        """Every level as one module; the cache is not used."""
        target = self.options.target
        module = self.network()
        yield "ncnn", module
        module = self.structured(module)
        planned = self.plan(module)
        yield "linalg", module
        loops = self.loops(module, planned)
        yield "kernels", KernelsText(loops, target)
        module = loops.module()
        yield "loops", module
        text = emit_llvm(lower(module, target), target, threads_text(target, declare_run=False))
        yield "llvm", text
        yield "asm", emit_assembly(text, target)
        yield "obj", emit_object(text, target)

    @cached_property
    def planned(self) -> tuple[ModuleOp, Plan]:
        """The linalg level and its memory plan."""
        module = self.structured(self.network())
        return module, self.plan(module)
