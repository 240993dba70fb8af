"""What is known of a network as a whole."""

from __future__ import annotations

import sys
from pathlib import Path

from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.network import Network, caches, implied_inputs, settling_inputs


def test_splits_may_follow_each_other(tmp_path: Path) -> None:
    """More of them than Python calls functions within functions: readers are looked for behind."""
    count = sys.getrecursionlimit()
    lines = ["Input data 0 1 part0"]
    lines += [f"Split split{k} 1 2 part{k} part{k + 1} other{k}" for k in range(count)]
    path = tmp_path / "net.param"
    path.write_text(f"7767517\n{count + 1} {2 * count + 1}\n" + "\n".join(lines) + "\n")
    network = Network.of(read(path).module)
    assert [found(network) for found in (implied_inputs, caches, settling_inputs)] == [set()] * 3
