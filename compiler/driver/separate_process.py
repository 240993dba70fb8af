"""A compilation in a separate process, so that the user's process holds neither xDSL nor LLVM.

    the user's process                          the separate process
      sends the question  ------------------>     imports xDSL and the levels
      imports numpy                               compiles down to the loops
                                                  makes the code, with forks of itself
      packs weights     <-- thin model ------     ends

The separate process is a fresh interpreter with the module path of the user's process. It reads the
question from a file in memory. If it fails, it does not answer: then the user's process compiles,
and raises the error.

The user's process compiles itself in four cases: it has imported the levels already (layers of its
own among them), the cache keeps no model, a shape is open, or the other process cannot answer.
Tools of ncc compile in their own process (`compile_with`).
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from typing import IO, TYPE_CHECKING, TypeAlias

from ncc.compiler.driver.end_with_parent import end_with
from ncc.compiler.options import Options
from ncc.runtime.errors import NccError
from ncc.runtime.paths import PathLike

if TYPE_CHECKING:
    from ncc.compiler.driver.thin_model import ThinModel

LEVELS = "xdsl"
"""The package that is loaded where a process compiles, or has layers of its own."""

_START = """
import sys
sys.path.insert(0, sys.argv[1])
import ncc
sys.path[:] = sys.argv[2:]
from ncc.compiler.driver.compile import answer
answer()
"""

_LIKE_HERE = {
    "isolated": "-I",
    "ignore_environment": "-E",
    "no_user_site": "-s",
    "no_site": "-S",
    "dont_write_bytecode": "-B",
}
"""Python's options for what an interpreter finds, and leaves, by their names in sys.flags."""

_OF_AN_ANSWER = ("ncc.compiler.driver.thin_model", "ncc.runtime.session")
"""Modules that the user's process needs when an answer is there. They import numpy."""

Made: TypeAlias = "tuple[ThinModel, bool]"
"""A thin model with code, and whether the files alone decide it."""


@dataclass(frozen=True)
class Question:
    """How is this network compiled? key: of its model, as the asker finds it."""

    param: PathLike
    bin: PathLike | None
    options: Options
    key: str
    asker: int
    """The process that asks."""

    @staticmethod
    def of(param: PathLike, bin: PathLike | None, options: Options, key: str) -> Question:
        return Question(
            _plain(param), None if bin is None else _plain(bin), options, key, os.getpid()
        )


@dataclass(frozen=True)
class Answer:
    """How the model is made, or why there is none, and what there was to warn of."""

    made: Made | NccError
    warnings: tuple[Warning | str, ...]


def pays() -> bool:
    """Whether another process would spare this one anything.

    Not where the levels are imported, be it by layers that only this process knows. An interpreter
    within another program is none that can be started.
    """
    name = os.path.basename(sys.executable or "")
    return LEVELS not in sys.modules and name.startswith("python") and not hasattr(sys, "frozen")


def ask(question: Question) -> Answer | None:
    """The answer of another process; None where it has none.

    An exception meanwhile, as an interruption is one, ends the process.
    """
    import subprocess  # only needed here

    options = [option for flag, option in _LIKE_HERE.items() if getattr(sys.flags, flag)]
    # This ncc, which need not be what the path leads to by now.
    home = os.path.dirname(os.path.dirname(str(sys.modules["ncc"].__file__)))
    path = [home, *(place for place in sys.path if isinstance(place, str))]
    # BLAS has small products to make: its threads would only keep the cores from others.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    with suppress(OSError, EOFError, pickle.UnpicklingError):
        with open(os.memfd_create("question"), "w+b") as asked:
            pickle.dump(question, asked)
            asked.seek(0)
            process = subprocess.Popen(
                [sys.executable, *options, "-P", "-c", _START, *path],
                stdin=asked,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        with process:
            try:
                for module in _OF_AN_ANSWER:  # on another core than that process
                    import_module(module)
                assert process.stdout is not None
                return _answered(process.stdout)
            finally:
                process.kill()
    return None


def _answered(answers: IO[bytes]) -> Answer:
    answer = pickle.load(answers)
    assert isinstance(answer, Answer)
    return answer


def answer(compile: Callable[[Question], Made | None]) -> None:
    """The main function of the separate process."""
    gc.disable()
    # The user's process handles an interruption from the terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    question: Question = pickle.load(sys.stdin.buffer)
    end_with(question.asker)
    with open(os.dup(1), "wb") as answers:
        os.dup2(2, 1)  # other output goes to stderr
        with warnings.catch_warnings(record=True) as caught:
            # The user's process chooses which warnings to show.
            for kind in (UserWarning, RuntimeWarning):
                warnings.simplefilter("default", kind)
            made = _made(compile, question)
        if made is not None:
            pickle.dump(Answer(made, tuple(one.message for one in caught)), answers)
    os._exit(0)  # without freeing the IR


def _made(compile: Callable[[Question], Made | None], question: Question) -> Made | NccError | None:
    try:
        return compile(question)
    except NccError as error:
        return error


def _plain(path: PathLike) -> PathLike:
    """A path that another process can read."""
    return path if isinstance(path, PurePath) else os.fspath(path)
