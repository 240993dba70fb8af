"""The tier of the cache that keeps models: small ones whole, large ones by their thin models.

A digest of the .bin is a part of the key of a small model. `ncc compile` copies such a model
without numpy, whose import takes longer than all other work. A large .bin takes longer to digest
than to pack, so the cache keeps a thin model instead (`thin_model.py`). It names its kernels, the
destination of each weight, and the values of the .bin that a rewrite has read. Sources of weights
(`dialects/weights/sources.py` and `derived.py`) need no IR, so that it becomes a model without IR.
"""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from ncc.compiler.driver.cache import MODEL, THIN, Cache
from ncc.compiler.driver.keys import model_key
from ncc.compiler.options import Options
from ncc.compiler.read.default_path import default_bin_path
from ncc.runtime.artifact import Artifact
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import ArtifactError
from ncc.runtime.memory_files import is_in_memory
from ncc.runtime.paths import PathLike

if TYPE_CHECKING:
    from ncc.compiler.driver.thin_model import ThinModel

LARGE = 32 << 20
"""Bytes of a .bin, or of a model, from which on no model is kept whole."""

LARGEST_THIN_MODEL = 4 << 20
"""Bytes of a thin model that is kept: one with weights that a rewrite computed may have more."""

_OPEN = b"open shapes"
"""In place of the thin model where a shape is open: each shape is a compilation of its own."""


@dataclass(frozen=True)
class Entry:
    """The place of the model for some files in the cache; equal as long as the files are."""

    cache: Cache
    key: str
    """Of all but the content of the .bin."""
    digest: bytes | None
    """Of the content of a small .bin, or of none; None for a large one."""
    lasts: bool = True
    """Whether a later process finds the weights where they are."""

    @staticmethod
    def of(
        cache: Cache | None, param: PathLike, bin: PathLike | None, options: Options
    ) -> Entry | None:
        """None where no models are kept, or the files cannot be read."""
        if cache is None or not cache.keeps(MODEL):
            return None
        key = model_key(param, bin, options)
        if key is None:
            return None
        path = default_bin_path(param) if bin is None else bin
        try:
            digest = _digest(path) if os.path.exists(path) else b""
        except OSError:
            return None
        return Entry(cache, key, digest, digest is not None or not is_in_memory(path))

    def copied(self, path: PathLike) -> Artifact | None:
        """Copy the small model to a path, if the cache has it."""
        kept = self._small()
        if kept is None:
            return None
        try:
            with draft_of(path) as draft:
                _copy(kept, draft)
                return Artifact.load(draft, verify_weights=True, any_cpu=True)
        except (ArtifactError, OSError):
            return None  # where the path is at fault, so it is when the model has been made

    def artifact(self) -> Artifact | None:
        """The model, if the cache has it: a small one in memory, a large one packed by its
        thin model.
        """
        kept = self._small()
        if kept is None:
            thin = self.thin()
            return None if thin is None else thin.artifact()
        from ncc.runtime.session import in_memory  # takes numpy

        with suppress(ArtifactError, OSError):  # broken, or evicted meanwhile
            return in_memory(Artifact.load(kept, verify_weights=True, any_cpu=True))
        return None

    def thin(self) -> ThinModel | None:
        """The thin model of a large model, with code.

        None where there is none, it does not hold, or the cache has lost a kernel.
        """
        held = self.cache.get(self.key, THIN) if self.lasts else None
        if held is None or held == _OPEN:
            return None
        # Ours: the key says by which version, a checksum that it is whole.
        thin: ThinModel = pickle.loads(held)
        objects = [code for key in thin.objects if (code := self.cache.get(key)) is not None]
        if len(objects) < len(thin.objects) or not thin.holds:
            return None
        return thin.with_code(tuple(objects))

    @property
    def is_open(self) -> bool:
        """Whether an earlier compilation noted that a shape is open."""
        return self.cache.get(self.key, THIN) == _OPEN

    def keep_open(self) -> None:
        """Note that a shape is open."""
        self._put(_OPEN)

    def keep(self, thin: ThinModel, model: Artifact | None) -> None:
        """Keep a small model, or the thin model of a large one. The files have not changed.

        A large one, whose weights are in memory alone, is not kept.
        """
        if not self.lasts:
            return
        whole = self.digest is not None and model is not None and not thin.beside
        if model is None or not whole or thin.constants.size > LARGE:
            self._put(pickle.dumps(thin.with_code(()), pickle.HIGHEST_PROTOCOL))
        else:
            self.cache.put_file(self._small_key, MODEL, model.save)
            self.cache.trim()

    @property
    def _small_key(self) -> str:
        return sha256(self.key.encode() + (self.digest or b"")).hexdigest()

    def _small(self) -> os.PathLike[str] | None:
        """The path of the whole model, if the cache keeps it whole."""
        return None if self.digest is None else self.cache.path(self._small_key, MODEL)

    def _put(self, data: bytes) -> None:
        if len(data) <= LARGEST_THIN_MODEL:
            self.cache.put(self.key, data, THIN)
            self.cache.trim()


def _digest(path: PathLike) -> bytes | None:
    """Of a file; None of a large one."""
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size > LARGE:
            return None
        return sha256(file.read()).digest()


def _copy(source: PathLike, target: PathLike) -> None:
    """Copy a file to a new one, within the system."""
    with open(source, "rb", buffering=0) as held, open(target, "xb", buffering=0) as file:
        while os.sendfile(file.fileno(), held.fileno(), None, LARGE):
            pass
