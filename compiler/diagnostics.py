"""The errors of a compilation, one class for each party that can be at fault.

ModelError: the file is wrong. Unsupported: ncc cannot do this yet. CompilerBug: ncc is wrong. Each
error has a location, and says how to go on. ModelWarning: a field that is ignored, or weights that
a broken conversion wrote. CacheWarning: the cache cannot be written. The base class NccError, and
the errors of runs, are in ncc.runtime.errors.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ncc.dialects.shapes import Shape, shown, with_short_extents
from ncc.runtime.errors import NccError, did_you_mean

if TYPE_CHECKING:
    from ncc.runtime.forms import Form

__all__ = [
    "CacheWarning",
    "CompilerBug",
    "ModelError",
    "ModelWarning",
    "NccError",
    "Problem",
    "Unsupported",
    "did_you_mean",
]

# A longer source line is cut to a window around the caret, so that one diagnostic stays on screen.
SOURCE_WIDTH = 100

REPORT = "this is a bug of ncc, not of your model: please report it with that dump"


class Misfed(NamedTuple):
    """An input of some shape that would have to be fed in another form."""

    blob: str
    form: Form
    shape: Shape

    def __str__(self) -> str:
        other = f"{shown(self.form.shape)} instead of {shown(self.shape)}"
        return f"{self.form.why}: {other} for {self.blob!r}"


@dataclass(frozen=True)
class Problem:
    """One problem of a model file.

    line and column count from 1; column is that of the first character at fault and `width` the
    number of characters at fault. source_line is the text of the line without its end. how: what
    the user can do to go on. misfed: the input that is at fault, and not the file.
    """

    message: str
    path: str | os.PathLike[str] | None = None
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    expected: str | None = None
    found: str | None = None
    suggestion: str | None = None
    width: int = 1
    how: str | None = None
    misfed: Misfed | None = None

    def __str__(self) -> str:
        places = [None if self.path is None else os.fspath(self.path)]
        if self.line is not None:
            places += [str(self.line), None if self.column is None else str(self.column)]
        message = with_short_extents(self.message)
        lines = [": ".join(filter(None, [":".join(filter(None, places)), "error", message]))]
        if self.source_line is not None:
            lines += _quote(self.source_line, self.column, self.width)
        if self.expected is not None and self.found is not None:
            lines.append(f"  expected {self.expected}, found {self.found}")
        elif self.expected is not None:
            lines.append(f"  expected {self.expected}")
        elif self.found is not None:
            lines.append(f"  found {with_short_extents(self.found)}")
        if self.suggestion is not None:
            lines.append(f"  did you mean {self.suggestion!r}?")
        if (how := self.how or self.misfed) is not None:
            lines.append(f"  to go on: {how}")
        return "\n".join(lines)


def _quote(source: str, column: int | None, width: int) -> list[str]:
    """The source line, and below it a line of carets when the column is known."""
    # Every unprintable character (a tab, an escape sequence in a broken file) becomes one blank or
    # question mark: the terminal is safe, and columns still match.
    shown = "".join(
        c if c.isprintable() else " " if c.isspace() else "?" for c in source.rstrip("\r\n")
    )
    first = 0
    if len(shown) > SOURCE_WIDTH:
        at = (column or 1) - 1
        first = min(max(0, at - SOURCE_WIDTH // 2), len(shown) - SOURCE_WIDTH)
        shown = shown[first : first + SOURCE_WIDTH]
    lines = ["  " + shown.rstrip()]
    if column is not None:
        caret = max(0, column - 1 - first)
        lines.append("  " + " " * caret + "^" * max(1, min(width, len(shown) - caret)))
    return lines


class ModelError(NccError):
    """The model file is at fault. Carries all problems that were found in it, at least one."""

    def __init__(self, problems: Problem | Iterable[Problem]) -> None:
        self.problems = (problems,) if isinstance(problems, Problem) else tuple(problems)
        if not self.problems:
            raise CompilerBug("a ModelError was raised without a problem")
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class ModelWarning(UserWarning):
    """A model file says something that ncnn ignores, and so does ncc; or it has weights as no
    training leaves them.
    """


class CacheWarning(RuntimeWarning):
    """The cache could not keep the result of a compilation."""


class Unsupported(NccError):
    """The model is well formed and asks for something that ncc does not do.

    what: the thing asked for. nearest: the nearest thing that is supported. how: what the user
    can do to go on. layer and line name the layer in the file that asks for it.
    """

    def __init__(
        self,
        what: str,
        nearest: str | None = None,
        how: str | None = None,
        layer: str | None = None,
        line: int | None = None,
    ) -> None:
        super().__init__(what, nearest, how, layer, line)
        self.what = what
        self.nearest = nearest
        self.how = how
        self.layer = layer
        self.line = line

    def __str__(self) -> str:
        where = "" if self.layer is None else f"layer {self.layer!r}"
        if self.line is not None:
            where += f"{' on ' if where else ''}line {self.line}"
        what = f"not supported: {with_short_extents(self.what)}"
        lines = [f"{where}: {what}" if where else what]
        if self.nearest is not None:
            lines.append(f"  nearest supported: {self.nearest}")
        if self.how is not None:
            lines.append(f"  to go on: {self.how}")
        return "\n".join(lines)


class CompilerBug(NccError):
    """ncc broke one of its own rules.

    pass_name: the pass that was at work. dump: a path to the IR it failed on, or its text.
    """

    def __init__(
        self,
        message: str,
        pass_name: str | None = None,
        dump: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(message, pass_name, dump)
        self.message = message
        self.pass_name = pass_name
        self.dump = dump

    def __str__(self) -> str:
        where = "" if self.pass_name is None else f" in pass {self.pass_name}"
        lines = [f"compiler bug{where}: {self.message}"]
        if self.dump is None:
            lines.append(f"  {REPORT.removesuffix(' with that dump')}")
        else:
            text = os.fspath(self.dump)
            label = "IR at that point:\n" if "\n" in text else "IR at that point: "
            lines += [f"  {label}{text}", f"  {REPORT}"]
        return "\n".join(lines)
