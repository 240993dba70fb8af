"""Keys of the cache: what a kernel, or a model, depends on.

A key needs neither IR nor numpy.

Machine code has a key for each core and not only for each target: lowering asks how fast a core
divides, so that the same loops become other instructions on another core.
"""

from __future__ import annotations

import os
from dataclasses import fields, replace
from hashlib import sha256
from pathlib import Path

from ncc.compiler.driver.tuned import schedules_for
from ncc.compiler.driver.versions import compiler_version, generator_version
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.target import Target
from ncc.runtime.memory_files import shown_path
from ncc.runtime.paths import PathLike


def kernel_key(text: str, target: Target) -> str:
    """The key of the machine code for a text that says all but the target and the compiler."""
    features = " ".join(sorted(target.features))
    parts = (generator_version(), target.name, target.cpu, features, repr(target.core), text)
    return sha256("\0".join(parts).encode()).hexdigest()


def model_key(param: PathLike, bin: PathLike | None, options: Options) -> str | None:
    """The key of the model for these files, by all but the content of the .bin.

    None where the files cannot be read, or only once: a pipe is left to the reader. Whether code is
    made ahead of calls matters for open shapes alone, and a model tells whether it has some.
    """
    weights = os.fspath(default_bin_path(param) if bin is None else bin)
    if any(os.path.exists(path) and not os.path.isfile(path) for path in (param, weights)):
        return None
    try:
        text = Path(param).read_bytes()
        size = os.stat(weights).st_size if os.path.exists(weights) else None
    except OSError:
        return None
    names = [field.name for field in fields(options) if field.name != "ahead"]
    chosen = [(name, _said(getattr(options, name))) for name in names]
    tuned = sorted(schedules_for(options).items())
    name, place = Path(shown_path(param)).name, shown_path(weights)
    parts = (compiler_version(), name, bin is None, place, size, chosen, tuned)
    return sha256(repr(parts).encode() + b"\0" + text).hexdigest()


def _said(choice: object) -> str:
    """An option as a text that is the same in every process."""
    if isinstance(choice, Target):
        return repr(replace(choice, features=frozenset())) + repr(sorted(choice.features))
    return repr(choice)
