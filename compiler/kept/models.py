"""Compiling into a file; who compiles the same small files again gets the same file.

A recipe says all but weights, and to pack them takes numpy, whose import takes longer than all
else. A model that is kept whole holds its weights, and is found by a digest of the .bin.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from hashlib import file_digest, sha256
from shutil import copyfile
from typing import NamedTuple

from ncc.compiler.definitions import methods_put_off
from ncc.compiler.kept.cache import MODEL, RECIPE, Cache, cache_of
from ncc.compiler.kept.keys import key_of
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.runtime.artifact import Artifact, PathLike
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError

LARGEST = 32 << 20
"""Bytes of a .bin, and of a model, that is small."""


class WholeKey(NamedTuple):
    """What a model is kept under, and what a recipe of it is."""

    recipe: str
    model: str


def compile_file(
    param: PathLike, bin: PathLike | None, options: Options, path: PathLike, stopwatch: Stopwatch
) -> Artifact:
    """Compile into a file, for a CPU that need not be this one; what it holds, weights or not.

    Raises InputError for a shape that is still open, and as `compile` does.
    """
    cache = cache_of(os.environ)
    with stopwatch.timing("look for the model"):
        key = whole_key_of(param, bin, options) if cache is not None else None
    if cache is not None and key is not None:
        with stopwatch.timing("copy the model"):
            model = copied(cache, key, path)
        if model is not None:
            return model
    with methods_put_off():
        from ncc.compiler.front import compile_artifact  # takes numpy, see above

    made = compile_artifact(param, bin, options, stopwatch)
    with stopwatch.timing("write the file"):
        made.save(path)
    if cache is not None and key is not None and os.path.getsize(path) <= LARGEST:
        with stopwatch.timing("keep the model"):
            keep(cache, key, param, bin, options, made.save)
    return made if isinstance(made, Artifact) else made.model


def whole_key_of(param: PathLike, bin: PathLike | None, options: Options) -> WholeKey | None:
    """What a model of these files is kept under; None where they cannot be read or are large."""
    recipe = key_of(param, bin, options)
    if recipe is None:
        return None
    weights = default_bin_path(param) if bin is None else bin
    found = sha256(recipe.encode())
    try:
        with suppress(FileNotFoundError), open(weights, "rb", buffering=0) as file:
            if os.fstat(file.fileno()).st_size > LARGEST:
                return None
            found.update(file_digest(file, "sha256").digest())
    except OSError:
        return None
    return WholeKey(recipe, found.hexdigest())


def copied(cache: Cache, key: WholeKey, path: PathLike) -> Artifact | None:
    """The model under a key, copied to a path, if it is there and whole."""
    kept = cache.path(key.model, MODEL)
    if kept is None:
        return None
    try:
        with draft_of(path) as draft:
            copyfile(kept, draft)
            return Artifact.load(draft, verify_weights=True, any_cpu=True)
    except (ArtifactError, OSError):
        return None  # where the path is at fault, so it is when the model has been made


def keep(
    cache: Cache,
    key: WholeKey,
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    save: Callable[[PathLike], None],
) -> None:
    """Keep what `save` writes, if a recipe says that it depends on the files alone.

    Not where they have changed meanwhile: nobody could tell which content it is of.
    """
    if cache.path(key.recipe, RECIPE) is not None and whole_key_of(param, bin, options) == key:
        cache.put_file(key.model, MODEL, save)
        cache.trim()
