"""What the readers of a value want of its elements, behind layers that only move them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute

from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.moving import wanted_by_readers
from ncc.dialects.ncnn.network import Network

EMBED = "Embed embed 1 1 {} table 0=2 1=3 3=6"
SIGMOID = "Sigmoid sigmoid 1 1 {} gate"


def wanted(path: Path, *lines: str) -> Attribute | None:
    """What the readers of the input want."""
    blobs = sum(int(line.split()[3]) for line in lines)
    text = "\n".join(["7767517", f"{len(lines) + 1} {blobs + 1}", "Input x 0 1 x", *lines, ""])
    path.write_text(text)
    module = read(path, None, random_weights=1).module
    return wanted_by_readers(Network.of(module).inputs["x"])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.param"


@pytest.mark.parametrize(
    ("lines", "type"),
    [
        ((EMBED.format("x"),), i32),
        (("Split split 1 2 x a b", "Flatten flat 1 1 a c", EMBED.format("c")), i32),
        (("Split split 1 2 x a b", "Flatten flat 1 1 a c", EMBED.format("b")), i32),
        (("Flatten flat 1 1 x c",), None),
    ],
)
def test_readers_are_looked_for_behind_moves(
    path: Path, lines: tuple[str, ...], type: Attribute | None
) -> None:
    """Whatever stands between; none of them wants anything itself."""
    assert wanted(path, *lines) == type


def test_the_first_reader_is_asked(path: Path) -> None:
    """Behind the first result before the second one."""
    split, flat = "Split split 1 2 x a b", "Flatten flat 1 1 a c"
    assert wanted(path, split, flat, EMBED.format("c"), SIGMOID.format("b")) == i32
    assert wanted(path, split, flat, SIGMOID.format("c"), EMBED.format("b")) != i32


def test_moves_may_follow_each_other(path: Path) -> None:
    """More of them than Python calls functions within functions; each is passed once."""
    count = sys.getrecursionlimit()
    lines = [f"Split split{k} 1 2 {f'b{k}' if k else 'x'} b{k + 1} c{k}" for k in range(count)]
    assert wanted(path, *lines) is None
    lines = ["Split split0 1 2 x p0 q0"]
    for k in range(60):
        lines.append(f"Concat concat{k} 2 1 p{k} q{k} j{k}")
        lines.append(f"Split split{k + 1} 1 2 j{k} p{k + 1} q{k + 1}")
    assert wanted(path, *lines) is None
