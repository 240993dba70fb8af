"""A model that names its code and its weights, as a thin archive of `ar` names its members.

    key         the text of the .param, options, tuned schedules, the size of the .bin, the version
                of ncc
    thin model  the kernels by their keys in the cache, where each weight goes and what is done to
                it, inputs, outputs, size of the arena; and which bytes of the .bin all that depends
                on

A thin model is valid as long as these bytes are the same: tags, and values that a rewrite has read.
All other bytes may change, because the weights are packed from the file again. If one of them
deserves a warning, the thin model is not valid. It becomes a model without IR and without LLVM.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from ncc.compiler.artifact.constants import Constants
from ncc.compiler.read.plausible import StoredNumbers, faults
from ncc.dialects.weights.stored import Piece
from ncc.runtime.artifact import Artifact, Weights
from ncc.runtime.paths import PathLike
from ncc.runtime.sizes import Sizes


@dataclass(frozen=True)
class ThinModel:
    """A model without weights, the keys of its code, and where its weights come from."""

    model: Artifact
    objects: tuple[str, ...]
    constants: Constants
    pieces: tuple[Piece, ...] = ()
    """The pieces of the .bin that the compilation read."""
    digest: bytes | None = None
    """Of that; None where it cannot be read any more."""
    numbers: tuple[StoredNumbers, ...] = ()
    """The weights, whose values are checked each time."""
    beside: tuple[tuple[str, int], ...] = ()
    """Other files that weights lie in, which the key does not know, and their sizes."""

    def looking_at(
        self, pieces: Iterable[Piece], numbers: tuple[StoredNumbers, ...] = ()
    ) -> ThinModel:
        """The thin model that depends on these pieces of the .bin, and has these weights."""
        read = tuple(sorted(pieces))
        return replace(self, pieces=read, digest=_digest(read), numbers=numbers)

    @property
    def holds(self) -> bool:
        """Whether the pieces are what they were, and no weight asks for a warning."""
        if self.digest is None or _digest(self.pieces) != self.digest:
            return False
        try:
            if any(os.stat(path).st_size != size for path, size in self.beside):
                return False
            return not any(faults(self.numbers))
        except OSError:
            return False

    def with_code(self, objects: tuple[bytes, ...]) -> ThinModel:
        """The thin model with code, or with none, as it is kept."""
        return replace(self, model=replace(self.model, objects=objects))

    def with_sizes(self, sizes: Sizes | None) -> ThinModel:
        """The thin model of a model with open shapes."""
        return replace(self, model=replace(self.model, sizes=sizes))

    def artifact(self, weights: Weights | None = None) -> Artifact:
        """The model, with its weights packed; or these."""
        return replace(self.model, weights=self.constants.packed() if weights is None else weights)

    def save(self, path: PathLike) -> None:
        """Write the model to a file, its weights while they are packed."""
        self.model.save_with(self.constants.chunks(), self.constants.size, path)


class Made(NamedTuple):
    """What came of a compilation. model: with weights, if these are packed. by_files_alone: whether
    the next compilation of the same files gives the same, and has nothing to warn about.
    """

    thin: ThinModel
    model: Artifact | None
    by_files_alone: bool


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
