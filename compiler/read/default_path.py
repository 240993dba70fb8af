"""The default path of the weights of a network."""

from __future__ import annotations

import os
from typing import TypeAlias

from ncc.runtime.memory_files import shown_path

AnyPath: TypeAlias = str | os.PathLike[str]


def default_bin_path(param_path: AnyPath) -> str:
    """`net.bin` for `net.param` and for `net.param.bin`, also of one that is open."""
    folder, name = os.path.split(shown_path(param_path))
    stem = name.removesuffix(".bin").removesuffix(".param")
    return os.path.join(folder, f"{stem}.bin")
