"""A fork of this process that packs the weights of a large model.

To follow a recipe takes numpy, whose import takes as long as all that stands in front of it: the
command line and what reads it. So a fork imports it meanwhile, as soon as a command line looks as
if there were much to pack, and is told what when that has been read. A recipe that it cannot follow
is left to who asked, who will find out why.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO

from ncc.compiler.process.forked import forked
from ncc.compiler.read.default_path import default_bin_path
from ncc.runtime import cpu

if TYPE_CHECKING:
    from ncc.runtime.artifact import Artifact, PathLike

LARGE = 32 << 20
"""Bytes of a .bin, and of a model, beyond which it is packed anew; others are kept whole."""


class Packer:
    """A fork at work from now on, which is done when it has answered once, or is let go."""

    def __init__(self) -> None:
        """Raises OSError where the system allows no more processes."""
        asked, asking = os.pipe()
        questions, self._question = open(asked, "rb"), open(asking, "wb")
        with questions:
            self._process, self._answers = forked(
                lambda answers: _answer(questions, answers), [self._question]
            )

    @staticmethod
    def for_command(arguments: Sequence[str]) -> Packer | None:
        """One for the arguments of `ncc compile`, if a .bin among them, or beside one, is large.

        None, too, where it would have no core for itself.
        """
        paths = [path for given in arguments for path in (given, default_bin_path(given))]
        large = any(os.path.isfile(path) and os.path.getsize(path) > LARGE for path in paths)
        if not large or cpu.cores() < 2:
            return None
        with suppress(OSError):
            return Packer()
        return None

    def pack(self, key: str | None, path: PathLike) -> Artifact | None:
        """Follow the recipe under a key into a file; the model without code and weights.

        key: None, if there is nothing to pack. None where there is no recipe, or something is in
        the way.
        """
        if key is None:
            self._question.close()
            self._end(signal.SIGKILL)
            return None
        import pickle  # only now: the fork has had the core to itself

        try:
            with suppress(BrokenPipeError), self._question:
                pickle.dump((key, path), self._question)
            with suppress(EOFError, pickle.UnpicklingError):
                model: Artifact | None = pickle.load(self._answers)
                return model
            return None
        finally:
            self._end(signal.SIGTERM)

    def _end(self, by: signal.Signals) -> None:
        self._answers.close()
        os.kill(self._process, by)
        os.waitpid(self._process, 0)


def _answer(questions: BinaryIO, answers: BinaryIO) -> None:
    """The fork's end: it is asked once, or never."""
    import pickle

    from ncc.compiler.kept.cache import cache_of
    from ncc.compiler.kept.recipe import followed

    # Who is interrupted takes its draft away.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    cache, asked = cache_of(os.environ), pickle.load(questions)
    pickle.dump(followed(cache, *asked) if cache is not None else None, answers)
