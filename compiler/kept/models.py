"""Compiling into a file; who compiles the same small files again gets the same file.

A recipe says all but weights, and to pack them takes numpy, whose import takes longer than all
else. A model that is kept whole holds its weights, and is found by a digest of the .bin.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import NamedTuple

from ncc.compiler.definitions import methods_put_off
from ncc.compiler.kept.cache import MODEL, RECIPE, Cache, cache_of
from ncc.compiler.kept.keys import key_of
from ncc.compiler.kept.packer import LARGE, Packer
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.runtime.artifact import Artifact, PathLike
from ncc.runtime.beside import Beside
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError


class Given(NamedTuple):
    """What is known of a model's files before the .bin is read."""

    recipe: str
    """What a recipe of it is kept under."""
    weights: tuple[int, int] | None
    """When the .bin was changed, and its size; None where there is none."""

    @property
    def large(self) -> bool:
        """Whether a model of these files is not kept whole."""
        return self.weights is not None and self.weights[1] > LARGE


def compile_file(
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    path: PathLike,
    stopwatch: Stopwatch,
    packer: Packer | None = None,
) -> Artifact:
    """Compile into a file, for a CPU that need not be this one; what it holds, weights or not.

    packer: begun for this, perhaps; it ends here.

    Raises InputError for a shape that is still open, and as `compile` does.
    """
    cache = cache_of(os.environ)
    with stopwatch.timing("look for the model"):
        given = given_by(param, bin, options) if cache is not None else None
    recipe = _recipe(cache, given)
    large = given is not None and given.large
    if packer is not None:
        with stopwatch.timing("follow a recipe"):
            model = packer.pack(recipe if large else None, path)
        if model is not None:
            return model
    if large:
        given = None  # it is not kept whole
    key_now = partial(key_of_model, given, param, bin)
    looked = Beside(key_now)
    # A model is kept only beside its recipe.
    if cache is not None and given is not None and recipe is not None:
        with stopwatch.timing("copy the model"):
            model = copied(cache, looked.result(), path)
        if model is not None:
            return model
    with methods_put_off():
        from ncc.compiler.front import compile_artifact  # takes numpy, see above

    key = looked.result()  # no thread may be at work where the process is copied
    made = compile_artifact(param, bin, options, stopwatch)
    looked = Beside(key_now)
    with stopwatch.timing("write the file"):
        made.save(path)
    if cache is not None and given is not None and key is not None:
        with stopwatch.timing("keep the model"):
            # Nobody could tell of which content a model is whose files have changed meanwhile.
            same = looked.result() == key and given_by(param, bin, options) == given
            if same and os.path.getsize(path) <= LARGE:
                keep(cache, given, key, made.save)
    return made if isinstance(made, Artifact) else made.model


def _recipe(cache: Cache | None, given: Given | None) -> str | None:
    """What a recipe of these files is kept under, if there is one."""
    if cache is None or given is None or cache.path(given.recipe, RECIPE) is None:
        return None
    return given.recipe


def given_by(param: PathLike, bin: PathLike | None, options: Options) -> Given | None:
    """What is known of these files; None where they cannot be read."""
    recipe = key_of(param, bin, options)
    if recipe is None:
        return None
    try:
        found = os.stat(_weights(param, bin))
    except FileNotFoundError:
        return Given(recipe, None)
    except OSError:
        return None
    return Given(recipe, (found.st_mtime_ns, found.st_size))


def key_of_model(given: Given | None, param: PathLike, bin: PathLike | None) -> str | None:
    """What a model of these files is kept under; None where they cannot be read, or are large."""
    if given is None:
        return None
    found = sha256(given.recipe.encode())
    try:
        if given.weights is not None:
            with open(_weights(param, bin), "rb", buffering=0) as file:
                found.update(sha256(file.read()).digest())
    except OSError:
        return None
    return found.hexdigest()


def _weights(param: PathLike, bin: PathLike | None) -> PathLike:
    return default_bin_path(param) if bin is None else bin


def copied(cache: Cache, key: str | None, path: PathLike) -> Artifact | None:
    """The model under a key, copied to a path, if it is there and whole."""
    kept = cache.path(key, MODEL) if key is not None else None
    if kept is None:
        return None
    try:
        with draft_of(path) as draft:
            _copy(kept, draft)
            return Artifact.load(draft, verify_weights=True, any_cpu=True)
    except (ArtifactError, OSError):
        return None  # where the path is at fault, so it is when the model has been made


def _copy(source: PathLike, target: PathLike) -> None:
    """Copy a file to a new one, within the system."""
    with open(source, "rb", buffering=0) as held, open(target, "xb", buffering=0) as file:
        while os.sendfile(file.fileno(), held.fileno(), None, LARGE):
            pass


def keep(cache: Cache, given: Given, key: str, save: Callable[[PathLike], None]) -> None:
    """Keep what `save` writes, if a recipe says that it depends on the files alone."""
    if cache.path(given.recipe, RECIPE) is not None:
        cache.put_file(key, MODEL, save)
        cache.trim()
