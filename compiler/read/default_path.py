"""The default path of the weights of a network."""

from __future__ import annotations

import os

from ncc.runtime.memory_files import shown_path
from ncc.runtime.paths import PathLike


def default_bin_path(param_path: PathLike) -> str:
    """`net.bin` for `net.param` and for `net.param.bin`, also of one that is open."""
    folder, name = os.path.split(shown_path(param_path))
    stem = name.removesuffix(".bin").removesuffix(".param")
    return os.path.join(folder, f"{stem}.bin")
