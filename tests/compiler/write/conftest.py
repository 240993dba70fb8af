"""Networks to write: from the lines of a .param, or from IR."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.read.read_network import read
from tests import ncnn_text

Network: TypeAlias = Callable[[str], ModuleOp]


@pytest.fixture
def network(tmp_path: Path) -> Network:
    """A network from the lines of its .param, with random weights."""

    def build(layers: str) -> ModuleOp:
        lines = [line.strip() for line in layers.strip().splitlines()]
        path = tmp_path / "given.param"
        path.write_text("\n".join(["7767517", f"{len(lines)} 100", *lines, ""]))
        return read(path, random_weights=1).module

    return build


@pytest.fixture(scope="session")
def parse() -> Network:
    """A network from the text of its IR."""

    return ncnn_text.parse
