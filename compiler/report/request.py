"""What a report is about, and the machine that it is made on."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ncc.compiler.feeds import Array, Range
from ncc.runtime import cpu
from ncc.runtime.paths import PathLike

PACKAGES = ("ncnn-compiler", "xdsl", "llvmlite", "numpy", "ncnn", "onnxruntime")
"""The packages whose versions a report names."""


@dataclass(frozen=True)
class Request:
    """What a report is about.

    options: those of `compile`. feeds: arrays for inputs; others are random. measured, compared:
    whether to measure times, and to compare results.
    """

    param: PathLike
    bin: PathLike | None
    options: Mapping[str, Any]
    feeds: Mapping[str, Array] = field(default_factory=dict)
    value_range: Range | None = None
    seed: int = 0
    rounds: int = 5
    measured: bool = True
    compared: bool = True


def about_machine() -> dict[str, str]:
    """The processor, the system, and the versions of packages."""
    found = {
        "processor": f"{cpu.model()}, {cpu.cores()} cores for this process",
        "system": platform.platform(),
        "Python": platform.python_version(),
    }
    return found | {package: _version(package) for package in PACKAGES}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
