"""Compiling into a file; who compiles the same small files again gets the same file.

A recipe says all but weights, and to pack them takes numpy, whose import takes longer than all
else. A model that is kept whole holds its weights, and is found by a digest of the .bin.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

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


@dataclass(frozen=True)
class Place:
    """Where a model of some files is kept, as far as that can be told before the .bin is read."""

    cache: Cache
    recipe: str
    """The key of its recipe."""
    weights: PathLike
    size: int | None
    """Bytes of the .bin; None where there is none."""

    @staticmethod
    def of(
        cache: Cache | None, param: PathLike, bin: PathLike | None, options: Options
    ) -> Place | None:
        """None where nothing is kept, or the files cannot be read."""
        recipe = None if cache is None else key_of(param, bin, options)
        if cache is None or recipe is None:
            return None
        weights = default_bin_path(param) if bin is None else bin
        try:
            return Place(cache, recipe, weights, os.stat(weights).st_size)
        except FileNotFoundError:
            return Place(cache, recipe, weights, None)
        except OSError:
            return None

    @property
    def is_large(self) -> bool:
        """Whether no model of these files is kept whole."""
        return self.size is not None and self.size > LARGE

    @property
    def has_recipe(self) -> bool:
        """Whether there is one, which says that a model depends on the files alone."""
        return self.cache.path(self.recipe, RECIPE) is not None

    def key(self) -> str | None:
        """What the model is kept under, by a digest of the .bin; None where that cannot be read."""
        found = sha256(self.recipe.encode())
        try:
            if self.size is not None:
                with open(self.weights, "rb", buffering=0) as file:
                    found.update(sha256(file.read()).digest())
        except OSError:
            return None
        return found.hexdigest()

    def copied(self, key: str | None, path: PathLike) -> Artifact | None:
        """The model under a key, copied to a path, if it is there and whole."""
        kept = None if key is None else self.cache.path(key, MODEL)
        if kept is None:
            return None
        try:
            with draft_of(path) as draft:
                _copy(kept, draft)
                return Artifact.load(draft, verify_weights=True, any_cpu=True)
        except (ArtifactError, OSError):
            return None  # where the path is at fault, so it is when the model has been made

    def keep(self, key: str, save: Callable[[PathLike], None]) -> None:
        """Keep what `save` writes."""
        self.cache.put_file(key, MODEL, save)
        self.cache.trim()


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
        place = Place.of(cache, param, bin, options)
    recipe = place.recipe if place is not None and place.has_recipe else None
    whole = None if place is None or place.is_large else place
    if packer is not None:
        with stopwatch.timing("follow a recipe"):
            model = packer.pack(recipe if whole is None else None, path)
        if model is not None:
            return model
    key_now = _no_key if whole is None else whole.key
    looked = Beside(key_now)
    # A model is kept only beside its recipe.
    if whole is not None and recipe is not None:
        with stopwatch.timing("copy the model"):
            model = whole.copied(looked.result(), path)
        if model is not None:
            return model
    from ncc.compiler.front import compile_artifact  # takes numpy, see above

    key = looked.result()  # no thread may be at work where the process is forked
    made = compile_artifact(param, bin, options, stopwatch)
    looked = Beside(key_now)
    with stopwatch.timing("write the file"):
        made.save(path)
    if whole is not None and key is not None:
        with stopwatch.timing("keep the model"):
            # Nobody could tell of which content a model is whose files have changed meanwhile.
            same = looked.result() == key and Place.of(cache, param, bin, options) == whole
            if same and whole.has_recipe and os.path.getsize(path) <= LARGE:
                whole.keep(key, made.save)
    return made if isinstance(made, Artifact) else made.model


def _no_key() -> None:
    """Of a model that is not kept whole."""


def _copy(source: PathLike, target: PathLike) -> None:
    """Copy a file to a new one, within the system."""
    with open(source, "rb", buffering=0) as held, open(target, "xb", buffering=0) as file:
        while os.sendfile(file.fileno(), held.fileno(), None, LARGE):
            pass
