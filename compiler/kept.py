"""Compiling into a file; who compiles the same small files again gets the same file.

A recipe says all but weights, and to pack them takes numpy, whose import takes longer than all
else. A model that is kept whole holds its weights, and is found by a digest of the .bin.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from ncc.compiler.cache import MODEL, RECIPE, Cache, cache_of
from ncc.compiler.keys import key_of
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.runtime.artifact import Artifact, PathLike
from ncc.runtime.errors import ArtifactError

LARGEST = 32 << 20
"""Bytes of a .bin, and of a model, that is small."""


def compile_file(
    param: PathLike, bin: PathLike | None, options: Options, path: PathLike, stopwatch: Stopwatch
) -> Artifact:
    """Compile into a file, for a CPU that need not be this one; what it holds, weights or not.

    Raises InputError for a shape that is still open, and as `compile` does.
    """
    cache = cache_of(os.environ)
    with stopwatch.timing("look for the model"):
        key = whole_key_of(param, bin, options) if cache is not None else None
        model = recalled(cache, key) if cache is not None and key is not None else None
    if model is not None:
        with stopwatch.timing("write the file"):
            model.save(path)
        return model
    from ncc.compiler.front import compile_artifact  # takes numpy, see above

    made = compile_artifact(param, bin, options, stopwatch)
    with stopwatch.timing("write the file"):
        made.save(path)
    if cache is not None and key is not None and os.path.getsize(path) <= LARGEST:
        with stopwatch.timing("keep the model"):
            keep(cache, key, param, bin, options, made.save)
    return made if isinstance(made, Artifact) else made.model


def whole_key_of(param: PathLike, bin: PathLike | None, options: Options) -> str | None:
    """What a model of these files is kept under; None where they cannot be read or are large."""
    key = key_of(param, bin, options)
    weights = Path(default_bin_path(param) if bin is None else bin)
    if key is None:
        return None
    found = sha256(key.encode())
    try:
        if weights.exists():
            if weights.stat().st_size > LARGEST:
                return None
            found.update(weights.read_bytes())
    except OSError:
        return None
    return found.hexdigest()


def recalled(cache: Cache, whole_key: str) -> Artifact | None:
    """The model under a key, if it is there and whole."""
    path = cache.path(whole_key, MODEL)
    if path is None:
        return None
    try:
        return Artifact.load(path, verify_weights=True, any_cpu=True)
    except (ArtifactError, OSError):
        return None


def keep(
    cache: Cache,
    whole_key: str,
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    save: Callable[[PathLike], None],
) -> None:
    """Keep what `save` writes, if a recipe says that it depends on the files alone.

    Not where they have changed meanwhile: nobody could tell which content it is of.
    """
    key = key_of(param, bin, options)
    if key is None or cache.path(key, RECIPE) is None:
        return
    if whole_key_of(param, bin, options) == whole_key:
        cache.put_file(whole_key, MODEL, save)
        cache.trim()
