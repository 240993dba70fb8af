"""Starts a compilation: finds the model in the cache, or compiles it through all levels.

Functions of this file import the levels only when they need them. To find a model in the cache
takes a tenth of a second; the imports would take half a second. A user's process does not import
the levels if a separate process can compile.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

from ncc.compiler.background import background
from ncc.compiler.diagnostics import CacheWarning
from ncc.compiler.driver.cache import cache_of
from ncc.compiler.driver.models import LARGE, Entry
from ncc.compiler.driver.python_settings import PYTHON
from ncc.compiler.driver.tuned import schedules_for
from ncc.compiler.options import Options
from ncc.compiler.stopwatch import Stopwatch
from ncc.runtime.artifact import Artifact
from ncc.runtime.errors import NccError, needing_packages
from ncc.runtime.extents import Range
from ncc.runtime.memory_files import FileLike, file_of
from ncc.runtime.paths import PathLike
from ncc.runtime.pixel_input import PixelInput
from ncc.runtime.pixel_output import PixelOutput

if TYPE_CHECKING:
    from ncc.compiler.driver.specialise import OpenModel
    from ncc.compiler.driver.thin_model import Made, ThinModel
    from ncc.runtime.session import Model


def compile(
    param: FileLike,
    bin: FileLike | None = None,
    *,
    opt_level: int = 2,
    num_threads: int = 1,
    input_shapes: Mapping[str, Sequence[int | None | Range]] | None = None,
    input_types: Mapping[str, str] | None = None,
    inputs: Mapping[str, str | PixelInput] | None = None,
    outputs: Sequence[str] | Mapping[str, str | PixelOutput | None] | None = None,
    target: str = "host",
    precision: str = "fp32",
    random_weights: int | None = None,
    tuned: bool = True,
) -> Model:
    """Compile the network in `param` (text or binary) with the weights in `bin`.

    Both may be paths, bytes, or files that are opened for reading bytes. bin: by default the .bin
    beside the .param. opt_level: 0 to 3. num_threads: the most that a
    run uses. input_shapes: shapes in numpy order by blob name, `{"data": (3, 224, 224)}`, where
    the file leaves them open or others are wanted; None in them leaves an extent open, and so does
    (64, 1024), which says the least and the most that it can be. A blob that a layer makes is fed
    instead if its shape is given here. input_types:
    element types by blob name, `{"data": "int8"}`, where an input has others than the layers want
    that read it. inputs: those that are fed pixels, uint8 (height, width, channels), which compiled
    code converts, `{"data": "uint8,hwc,bgr2rgb,mean=104,117,123,norm=0.017"}`, or a
    `ncc.image.PixelInput`; input_shapes are those of the network. outputs: blobs to return; by
    default those that no layer reads. A dict says of each whether it is returned as pixels,
    `{"y": "uint8,hwc,rgb2bgr,norm=0.017", "z": None}`, or by a `ncc.image.PixelOutput`.
    target: "host", "amx", "avx512vnni", "avx512", "avx2" or "baseline"; for other processors
    "neoni8mm", "neondot", "neon" or "rvv". precision: "fp32", the only one so far.
    random_weights: a seed to make weights up from. tuned: use the schedules that `ncc tune` has
    kept for this machine; they change no result.

    A separate process compiles, unless this process has imported the compiler already.

    Where a shape is open, in the file or on purpose, the result is an `OpenModel`: it is compiled
    when it is first called, for all shapes if that is possible, else for those of each call.

    Raises ModelError where the files are at fault, Unsupported for what ncc cannot do (yet),
    InputError for options out of range and for what is no path, NccError where a package or memory
    is missing, or the .bin is cut off meanwhile. Warns (ModelWarning) about fields that are
    ignored.
    """
    options = Options.of(
        opt_level=opt_level,
        num_threads=num_threads,
        input_shapes=input_shapes,
        input_types=input_types,
        inputs=inputs,
        outputs=outputs,
        target=target,
        precision=precision,
        random_weights=random_weights,
        tuned=tuned,
    )
    with needing_packages("ncc.compile"):
        return _Request(param, bin, options, Stopwatch()).model(apart=True)


def compile_with(
    param: FileLike,
    bin: FileLike | None,
    options: Options,
    stopwatch: Stopwatch | None = None,
) -> Model:
    """The same with checked options, always in this process.

    stopwatch: measures each stage.
    """
    return _Request(param, bin, options, stopwatch or Stopwatch()).model()


def compile_file(
    param: FileLike, bin: FileLike | None, options: Options, path: PathLike, stopwatch: Stopwatch
) -> Artifact:
    """Compile into a file, for a CPU that need not be this one; returns its content, with weights
    or without.

    This process belongs to ncc: forks of it make machine code, one for each core.

    options.ahead: whether the code is for all shapes, if some are open.

    Raises InputError for a shape that has to be said, and as `compile` does.
    """
    request = _Request(param, bin, options, stopwatch)
    with stopwatch.timing("look for the model"):
        model = request.entry.copied(path) if request.entry is not None else None
    if model is not None:
        return model
    return request.into_file(path)


def answer() -> None:
    """Compile for another process, which packs the weights; see `separate_process.py`."""
    from ncc.compiler.driver import separate_process
    from ncc.compiler.driver.separate_process import Question
    from ncc.runtime.session import Model

    def made(question: Question) -> tuple[ThinModel, bool] | None:
        request = _Request(question.param, question.bin, question.options, Stopwatch())
        if request.entry is None or request.entry.key != question.key:
            return None  # a file has changed, or ncc
        found = request.compiled(with_workers=True, pack_up_to=0)
        return (found.thin, found.by_files_alone) if not isinstance(found, Model) else None

    separate_process.answer(made)


class _Request:
    """The files and options of a compilation, and its key in the cache."""

    def __init__(
        self, param: FileLike, bin: FileLike | None, options: Options, stopwatch: Stopwatch
    ) -> None:
        self.param = file_of(param, "the .param")
        self.bin = None if bin is None else file_of(bin, "the .bin")
        self.options, self.stopwatch = options, stopwatch
        self.cache = cache_of(os.environ)
        with stopwatch.timing("look for the model"):
            self.entry = self._entry_now()

    def model(self, apart: bool = False) -> Model:
        """A model to run. apart: whether another process compiles, if that pays."""
        with self.stopwatch.timing("load the model"):
            artifact = self.entry.artifact() if self.entry is not None else None
        if artifact is not None and artifact.sizes is not None and not self.options.ahead:
            artifact = None  # a file's code, which is not for the shape of the first call
        if artifact is None and apart:
            artifact = self._made_apart()
        # This imports numpy, which the other process need not wait for.
        from ncc.runtime.session import Model

        if artifact is not None:
            return Model(artifact)
        made = self.compiled()
        if isinstance(made, Model):
            return made
        artifact = made.model or made.thin.artifact()
        self._keep(made.thin, artifact, made.by_files_alone)
        return Model(artifact)

    def into_file(self, path: PathLike) -> Artifact:
        """Write the model; what it holds, weights or not."""
        thin = self.entry.thin() if self.entry is not None else None
        if thin is not None:
            with self.stopwatch.timing("pack the weights, and write the file"):
                thin.save(path)
            return thin.model
        from ncc.compiler.driver.specialise import OpenModel

        made = self.compiled(with_workers=True, pack_up_to=LARGE)
        if isinstance(made, OpenModel):
            made.require_ranks()
            artifact = made.compiled().artifact
            artifact.save(path)
            return artifact
        with self.stopwatch.timing("write the file"):
            made.model.save(path) if made.model is not None else made.thin.save(path)
        self._keep(made.thin, made.model, made.by_files_alone)
        return made.model or made.thin.model

    def compiled(
        self, with_workers: bool = False, pack_up_to: float = math.inf
    ) -> Made | OpenModel:
        """The model through all levels; where a shape is open, one that is compiled when it is
        called.

        with_workers: whether forks of this process may work for it, which a caller's may not care
        for. pack_up_to: bytes of weights that are packed meanwhile.
        """
        with PYTHON.tuned():
            with self.stopwatch.timing("import the levels"):
                with self._llvm_loaded() if with_workers else nullcontext():
                    from ncc.compiler.driver.assemble import compiled
                    from ncc.compiler.driver.specialise import OpenModel
                    from ncc.compiler.pipeline import Compilation
            schedules = schedules_for(self.options)
            compilation = Compilation(
                self.param, self.bin, self.options, schedules=schedules, stopwatch=self.stopwatch
            )
            made = compiled(compilation, self.cache, with_workers, pack_up_to)
        if self.entry is not None and isinstance(made, OpenModel):
            self.entry.keep_open()
        return made

    @contextmanager
    def _llvm_loaded(self) -> Iterator[None]:
        """Have LLVM ready when a block ends: forks of this process need not see to it then."""
        from ncc.compiler.driver.threads_object import make_ready

        # No thread is at work where the process is forked: the block waits for it.
        with background() as thread:
            ready = thread.submit(make_ready, self.options.target, self.cache)
            yield
        ready.result()

    def _made_apart(self) -> Artifact | None:
        """The model by another process; None where it finds none, or this one might as well look.

        Warns the caller of `compile`, and raises what the compilation does.
        """
        from ncc.compiler.driver import separate_process
        from ncc.compiler.driver.separate_process import Question

        # Where no model is kept, each compilation would take another process.
        if self.entry is None or self.entry.is_open or not separate_process.pays():
            return None
        answer = separate_process.ask(
            Question.of(self.param, self.bin, self.options, self.entry.key)
        )
        if answer is None:
            return None
        for warning in answer.warnings:
            warnings.warn(warning, stacklevel=4)
        if isinstance(answer.made, NccError):
            raise answer.made
        thin, by_files_alone = answer.made
        if not thin.holds:
            return None
        artifact = thin.artifact()
        # A folder that the other process could not write to is no better for this one.
        can_keep = not any(isinstance(warning, CacheWarning) for warning in answer.warnings)
        self._keep(thin, artifact, by_files_alone and can_keep)
        return artifact

    def _keep(self, thin: ThinModel, model: Artifact | None, by_files_alone: bool) -> None:
        """Put the model into the cache, if the files did not change since the compilation began."""
        if self.entry is not None and by_files_alone and self._entry_now() == self.entry:
            with self.stopwatch.timing("keep the model"):
                self.entry.keep(thin, model)

    def _entry_now(self) -> Entry | None:
        return Entry.of(self.cache, self.param, self.bin, self.options)
