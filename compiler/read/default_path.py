"""Where the weights of a network are if nobody says it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

AnyPath: TypeAlias = str | os.PathLike[str]


def default_bin_path(param_path: AnyPath) -> str:
    """`net.bin` for `net.param` and for `net.param.bin`."""
    path = Path(param_path)
    stem = path.name.removesuffix(".bin").removesuffix(".param")
    return os.fspath(path.with_name(f"{stem}.bin"))
