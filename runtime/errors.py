"""The base class of all errors of ncc, and the errors of loading and running a compiled model.

Errors of the compiler itself are in ncc.compiler.diagnostics. Every error here survives pickling,
so that a worker process can hand it to its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class NccError(Exception):
    """The base class of all errors that ncc raises on purpose."""


INSTALL = {
    "compiler": "pip install 'ncnn-compiler[compiler]' (in Python, ncc.load needs numpy alone)",
    "dask": "pip install 'ncnn-compiler[dask]'",
    "image": "pip install 'ncnn-compiler[image]'",
    "report": "pip install 'ncnn-compiler[report]'",
}
"""How to have the packages of an extra of our distribution."""


@contextmanager
def needing_packages(what: str, extra: str = "compiler") -> Iterator[None]:
    """Tell of a package that is not installed, and that `what` needs.

    extra: of `INSTALL`, which brings it.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "ncc").partition(".")[0]
        if package == "ncc":
            raise
        raise NccError(
            f"{what} needs {package}, which is not installed: {INSTALL[extra]}"
        ) from error


def did_you_mean(word: str, choices: Iterable[str]) -> str | None:
    """The choice that looks most like `word`, ignoring case; None when none comes near."""
    import difflib  # slow to import, and only needed here

    by_folded: dict[str, str] = {}
    for choice in choices:
        by_folded.setdefault(choice.casefold(), choice)
    close = difflib.get_close_matches(word.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[close[0]] if close else None


MOST_NAMED = 12
"""The most names that a message lists."""


class InputError(NccError, ValueError):
    """An argument does not fit the model: name, dtype or shape of a blob."""

    def __init__(
        self,
        message: str,
        blob: str | None = None,
        expected: str | None = None,
        found: str | None = None,
        suggestion: str | None = None,
    ) -> None:
        super().__init__(message, blob, expected, found, suggestion)
        self.message = message
        self.blob = blob
        self.expected = expected
        self.found = found
        self.suggestion = suggestion

    def __str__(self) -> str:
        text = self.message
        if self.expected is not None:
            text += f": expected {self.expected}"
            if self.found is not None:
                text += f", found {self.found}"
        if self.suggestion is not None:
            text += f"; did you mean {self.suggestion!r}?"
        return text

    @classmethod
    def unknown_name(cls, kind: str, name: str, known: Iterable[str]) -> InputError:
        """`name` is none of the model's blobs of this `kind` ("input" or "output")."""
        names = tuple(known)
        expected = " or ".join(map(repr, names[:MOST_NAMED])) if names else f"no {kind} at all"
        if len(names) > MOST_NAMED:
            expected += f" or {len(names) - MOST_NAMED} more"
        return cls(
            f"the model has no {kind} {name!r}", name, expected, None, did_you_mean(name, names)
        )


class ArtifactError(NccError):
    """A compiled model that cannot be used: broken, foreign, too new, or made for another CPU."""

    def __init__(self, message: str, missing_features: Iterable[str] = ()) -> None:
        self.message = message
        self.missing_features = tuple(sorted(missing_features))
        super().__init__(message, self.missing_features)

    def __str__(self) -> str:
        return self.message
