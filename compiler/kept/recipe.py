"""How a model was made, kept for the next compilation of the same network: all of it but numbers.

    key      the text of the .param, options, tuned schedules, the size of the .bin, the version of
             ncc
    recipe   the kernels by their keys in the cache, where each weight goes and what is done to it,
             inputs, outputs, size of the arena; and which bytes of the .bin all that depends on

A recipe holds where these bytes are what they were: tags, and values that a rewrite has looked at.
Others may have changed, since a model is packed from the file anew; where they are such that a user
is to be warned, it does not hold. To follow a recipe takes neither IR nor LLVM.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby
from operator import attrgetter

from ncc.compiler.artifact.constants import Constants
from ncc.compiler.kept.cache import RECIPE, Cache
from ncc.compiler.process import forked
from ncc.compiler.read.plausible import StoredNumbers, faults
from ncc.dialects.weights.stored import Piece
from ncc.runtime.archive import Share
from ncc.runtime.artifact import Artifact, PathLike
from ncc.runtime.beside import shared

LARGEST = 4 << 20
"""Bytes of a recipe that is kept: one with weights that a rewrite computed may have more."""


@dataclass(frozen=True)
class Recipe:
    """A model without weights, and without code where it is kept, and where these come from: the
    .bin, keys of the cache.
    """

    model: Artifact
    objects: tuple[str, ...]
    constants: Constants

    def artifact(self) -> Artifact:
        """The model, its weights packed."""
        return replace(self.model, weights=self.constants.packed())

    def save(self, path: PathLike, share: Share = shared) -> None:
        """Write the model to a file, its weights while they are packed; see `write_archive`."""
        self.model.save_with(self.constants.pieces(), path, share)


@dataclass(frozen=True)
class Kept:
    """A recipe, what was looked at of the .bin for it, the digest of that, and the weights, which
    are looked at each time.
    """

    recipe: Recipe | None
    """None where a shape is open: each shape is a compilation of its own."""
    pieces: tuple[Piece, ...]
    digest: bytes | None
    """None where that cannot be read any more."""
    numbers: tuple[StoredNumbers, ...] = ()

    @staticmethod
    def of(
        recipe: Recipe | None, pieces: Iterable[Piece], numbers: tuple[StoredNumbers, ...] = ()
    ) -> Kept:
        read = tuple(sorted(pieces))
        return Kept(recipe, read, _digest(read), numbers)

    @property
    def holds(self) -> bool:
        """Whether what was looked at is what it was, and there is nothing to warn of."""
        if self.digest is None or _digest(self.pieces) != self.digest:
            return False
        try:
            return not any(faults(self.numbers))
        except OSError:
            return False


def recalled(cache: Cache, key: str) -> Recipe | None:
    """The recipe under a key, with code.

    None where there is no recipe, it does not hold, or the cache has lost a kernel of it.
    """
    kept = _kept(cache, key)
    recipe = None if kept is None else kept.recipe
    if recipe is None:
        return None
    objects = [code for key in recipe.objects if (code := cache.get(key)) is not None]
    if len(objects) < len(recipe.objects):
        return None
    return replace(recipe, model=replace(recipe.model, objects=tuple(objects)))


def is_open(cache: Cache, key: str) -> bool:
    """Whether it is known that there can be no recipe, since a shape is open."""
    kept = _kept(cache, key)
    return kept is not None and kept.recipe is None


def _kept(cache: Cache, key: str) -> Kept | None:
    """What is kept under a key, if it holds."""
    held = cache.get(key, RECIPE)
    if held is None:
        return None
    kept = pickle.loads(held)  # ours: the key says by which version, a checksum that it is whole
    return kept if isinstance(kept, Kept) and kept.holds else None


def followed(cache: Cache, key: str, path: PathLike) -> Artifact | None:
    """Follow the recipe under a key into a file, if there is one; the model without code.

    This process is forked: no other thread may be at work.
    """
    recipe = recalled(cache, key)
    if recipe is None:
        return None
    recipe.save(path, forked.shared)
    return replace(recipe.model, objects=())


def keep(cache: Cache, key: str, kept: Kept) -> None:
    """Keep a recipe without code for later compilations, unless it is as large as a network."""
    if kept.digest is None:
        return
    held = pickle.dumps(kept, pickle.HIGHEST_PROTOCOL)
    if len(held) <= LARGEST:
        cache.put(key, held, RECIPE)
        cache.trim()


def _digest(pieces: Iterable[Piece]) -> bytes | None:
    """Of what is in sorted pieces of files now; None where a file cannot be read."""
    found = sha256()
    try:
        for path, inside in groupby(pieces, key=attrgetter("path")):
            with open(path, "rb", buffering=0) as file:
                for piece in inside:
                    found.update(os.pread(file.fileno(), piece.size, piece.offset))
    except OSError:
        return None
    return found.digest()
