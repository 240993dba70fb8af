"""The default path of the weights of a network."""

from __future__ import annotations

import os
from typing import TypeAlias

AnyPath: TypeAlias = str | os.PathLike[str]


def default_bin_path(param_path: AnyPath) -> str:
    """`net.bin` for `net.param` and for `net.param.bin`."""
    folder, name = os.path.split(os.fspath(param_path))
    stem = name.removesuffix(".bin").removesuffix(".param")
    return os.path.join(folder, f"{stem}.bin")
