"""Networks written to disk, for the tests of reading."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

Write: TypeAlias = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write layers, one a line, as net.param (and bytes as net.bin beside it); give its path."""

    def write_network(layers: str, weights: bytes | None = None) -> Path:
        lines = [line.strip() for line in layers.strip().splitlines()]
        path = tmp_path / "net.param"
        path.write_text("\n".join(["7767517", f"{len(lines)} 100", *lines, ""]))
        (tmp_path / "net.bin").unlink(missing_ok=True)
        if weights is not None:
            (tmp_path / "net.bin").write_bytes(weights)
        return path

    return write_network
