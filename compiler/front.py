"""Where a compilation begins: by the recipe of an earlier one, or through all levels.

The levels are imported only where they are needed: a recipe takes a tenth of a second, and half of
one would go into imports. A user's process does not import them where another one can compile.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from ncc.compiler.kept.cache import RECIPE, Cache, cache_of
from ncc.compiler.kept.keys import key_of
from ncc.compiler.kept.recipe import Kept, Recipe, is_open, recalled
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.options import Options
from ncc.compiler.process import own_process
from ncc.compiler.process.own_process import Question
from ncc.compiler.process.python_settings import PYTHON
from ncc.runtime.artifact import Artifact, PathLike
from ncc.runtime.beside import Beside
from ncc.runtime.errors import NccError, needing_packages
from ncc.runtime.session import Model

if TYPE_CHECKING:
    from ncc.compiler.late import LateModel
    from ncc.compiler.pipeline import Compilation


def compile(
    param: PathLike,
    bin: PathLike | None = None,
    *,
    opt_level: int = 2,
    num_threads: int = 1,
    input_shapes: Mapping[str, Sequence[int | None]] | None = None,
    input_types: Mapping[str, str] | None = None,
    outputs: Sequence[str] | None = None,
    target: str = "host",
    precision: str = "fp32",
    random_weights: int | None = None,
    tuned: bool = True,
) -> Model:
    """Compile the network in `param` (text or binary) with the weights in `bin`.

    bin: by default the .bin beside the .param. opt_level: 0 to 3. num_threads: the most that a
    run uses. input_shapes: shapes in numpy order by blob name, `{"data": (3, 224, 224)}`, where
    the file leaves them open or others are wanted; None in them leaves an extent open. A blob that
    a layer makes is fed instead if its shape is given here. input_types:
    element types by blob name, `{"data": "int8"}`, where an input has others than the layers want
    that read it. outputs: blobs to return; by default those that no layer reads. target: "host",
    "amx", "avx512vnni", "avx512", "avx2" or "baseline". precision: "fp32", the only one so far.
    random_weights: a seed to make weights up from. tuned: use the schedules that `ncc tune` has
    kept for this machine; they change no result.

    A process of ncc's own compiles, unless the compiler is imported here already: this one is left
    as it is.

    Where a shape is open, in the file or on purpose, the result is a `LateModel`: it is compiled
    when it is first called with arrays of some shapes, and kept for them.

    Raises ModelError where the files are at fault, Unsupported for what ncc cannot do (yet),
    InputError for options out of range, NccError where a package or memory is missing, or the .bin
    is cut off meanwhile. Warns (ModelWarning) of what the files say in vain.
    """
    options = Options.of(
        opt_level=opt_level,
        num_threads=num_threads,
        input_shapes=input_shapes,
        input_types=input_types,
        outputs=outputs,
        target=target,
        precision=precision,
        random_weights=random_weights,
        tuned=tuned,
    )
    with needing_packages("ncc.compile"):
        return _model(_compiled(param, bin, options, Stopwatch(), apart=True))


def compile_with(
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    stopwatch: Stopwatch | None = None,
) -> Model:
    """The same with options that are checked already, in this process whatever it has imported.

    stopwatch: is told the time of each stage.
    """
    stopwatch = stopwatch or Stopwatch()
    made = _compiled(param, bin, options, stopwatch)
    with stopwatch.timing("pack weights"):
        return _model(made)


def compile_artifact(
    param: PathLike, bin: PathLike | None, options: Options, stopwatch: Stopwatch
) -> Recipe | Artifact:
    """What can be saved into a file; this CPU need not be able to run it.

    This process is ncc's own: forks of it make machine code, a core each.

    Raises InputError for a shape that is still open.
    """
    made = _compiled(param, bin, options, stopwatch, with_workers=True)
    return made if isinstance(made, Recipe | Artifact) else made.compiled().artifact


def answer() -> None:
    """Compile for another process, which packs the weights; see `own_process.py`."""

    def compiled(question: Question, tell: Callable[[Kept], None]) -> tuple[bytes, ...] | None:
        param, bin, options = question.param, question.bin, question.options
        if key_of(param, bin, options) != question.key:
            return None  # a file has changed, or ncc
        with PYTHON.tuned():
            compilation = _compilation(param, bin, options, cache_of(os.environ), with_workers=True)
            return compilation.for_another(question.key, tell)

    own_process.answer(compiled)


def _model(made: Recipe | Artifact | LateModel) -> Model:
    if isinstance(made, Recipe):
        made = made.artifact()
    return Model(made) if isinstance(made, Artifact) else made


def _compiled(
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    stopwatch: Stopwatch,
    with_workers: bool = False,
    apart: bool = False,
) -> Recipe | Artifact | LateModel:
    """What a model runs, or says how that was made; where a shape is open, the model that is
    compiled when it is called.

    with_workers: whether forks of this process may work for it, which a caller's may not care for.
    apart: whether another process compiles, if that pays.
    """
    cache = cache_of(os.environ)
    with stopwatch.timing("follow a recipe"):
        key = key_of(param, bin, options) if cache is not None else None
        recipe = recalled(cache, key) if cache is not None and key is not None else None
    if recipe is not None:
        return recipe
    if apart and cache is not None and key is not None:
        artifact = _made_apart(cache, Question.of(param, bin, options, key))
        if artifact is not None:
            return artifact
    with PYTHON.tuned():
        return _compilation(param, bin, options, cache, with_workers, stopwatch).compiled(key)


def _made_apart(cache: Cache, question: Question) -> Artifact | None:
    """The model by another process; None where it finds none, or this one might as well look.

    Warns the caller of `compile`, and raises what the compilation does.
    """
    # Where no recipe is kept, each compilation would take another process.
    if not cache.keeps(RECIPE) or is_open(cache, question.key) or not own_process.pays():
        return None
    answer = own_process.ask(question)
    if answer is None:
        return None
    for warning in answer.warnings:
        warnings.warn(warning, stacklevel=4)
    if isinstance(answer.made, NccError):
        raise answer.made
    return answer.made


def _compilation(
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    cache: Cache | None,
    with_workers: bool,
    stopwatch: Stopwatch | None = None,
) -> Compilation:
    """A compilation through the levels, which are imported for it."""
    stopwatch = stopwatch or Stopwatch()
    with stopwatch.timing("import the levels"):
        with _meanwhile(options, cache) if with_workers else nullcontext():
            from ncc.compiler.pipeline import Compilation
    return Compilation(param, bin, options, cache, stopwatch, with_workers)


@contextmanager
def _meanwhile(options: Options, cache: Cache | None) -> Iterator[None]:
    """Have LLVM ready when a block ends: forks of this process need not see to it then."""
    from ncc.compiler.artifact.threads_object import make_ready

    ready = Beside(partial(make_ready, options.target, cache))
    try:
        yield
    finally:
        ready.result()  # no thread may be at work where the process is forked
