"""How a model was made, kept for the next compilation of the same network: all of it but numbers.

    key      the text of the .param, options, tuned schedules, the size of the .bin, the version of
             ncc
    recipe   the kernels by their keys in the cache, where each weight goes and what is done to it,
             inputs, outputs, size of the arena; and which bytes of the .bin all that depends on

A recipe holds where these bytes are what they were: tags, and values that a rewrite has looked at.
Others may have changed, since a model is packed from the file anew. To follow a recipe takes
neither IR nor LLVM.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from ncc.compiler.cache import RECIPE, Cache, compiler_version
from ncc.compiler.constants import Constants
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.compiler.target import Target
from ncc.compiler.tuned import tuned_schedules
from ncc.dialects.sources import Piece
from ncc.runtime.artifact import Artifact, PathLike

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

    def save(self, path: PathLike) -> None:
        """Write the model to a file, its weights while they are packed."""
        self.model.save_with((self.constants.size, self.constants.parts()), path)


@dataclass(frozen=True)
class _Kept:
    """A recipe, what was looked at of the .bin for it, and the digest of that."""

    recipe: Recipe
    pieces: tuple[Piece, ...]
    digest: bytes


def key_of(param: PathLike, bin: PathLike | None, options: Options) -> str | None:
    """What a recipe for these files is kept under; None where the .param cannot be read."""
    weights = os.fspath(default_bin_path(param) if bin is None else bin)
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


def recalled(cache: Cache, key: str) -> Recipe | None:
    """The recipe under a key, with code.

    None where there is no recipe, it does not hold, or the cache has lost a kernel of it.
    """
    held = cache.get(key, RECIPE)
    if held is None:
        return None
    kept = pickle.loads(held)  # ours: the key says by which version, a checksum that it is whole
    if not isinstance(kept, _Kept) or _digest(kept.pieces) != kept.digest:
        return None
    objects = [code for key in kept.recipe.objects if (code := cache.get(key)) is not None]
    if len(objects) < len(kept.recipe.objects):
        return None
    return replace(kept.recipe, model=replace(kept.recipe.model, objects=tuple(objects)))


def keep(cache: Cache, key: str, recipe: Recipe, pieces: Iterable[Piece]) -> None:
    """Keep a recipe for later compilations, unless it is as large as a network."""
    read = tuple(sorted(pieces))
    digest = _digest(read)
    if digest is None:
        return
    held = pickle.dumps(_Kept(recipe, read, digest), pickle.HIGHEST_PROTOCOL)
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
