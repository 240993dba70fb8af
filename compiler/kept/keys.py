"""The key of a model in the cache: all that it depends on, except what is looked up in its files.

A key needs neither IR nor numpy.
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

from ncc.compiler.kept.cache import compiler_version
from ncc.compiler.kept.tuned import tuned_schedules
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.target import Target
from ncc.runtime.artifact import PathLike


def key_of(param: PathLike, bin: PathLike | None, options: Options) -> str | None:
    """What a recipe for these files is kept under; None where they cannot be read, or only once:
    what comes through a pipe is left to the reader.
    """
    weights = os.fspath(default_bin_path(param) if bin is None else bin)
    if any(os.path.exists(path) and not os.path.isfile(path) for path in (param, weights)):
        return None
    try:
        text = Path(param).read_bytes()
        size = os.stat(weights).st_size if os.path.exists(weights) else None
    except OSError:
        return None
    chosen = [(field.name, _said(getattr(options, field.name))) for field in fields(options)]
    schedules = tuned_schedules(os.environ, options.target) if options.tuned else {}
    tuned = sorted(schedules.items())
    parts = (compiler_version(), Path(param).name, bin is None, weights, size, chosen, tuned)
    return sha256(repr(parts).encode() + b"\0" + text).hexdigest()


def _said(choice: object) -> str:
    """An option as a text that is the same in every process."""
    if isinstance(choice, Target):
        return repr(replace(choice, features=frozenset())) + repr(sorted(choice.features))
    return repr(choice)
