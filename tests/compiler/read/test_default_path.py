"""Where the weights are of a network that was named alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.read.default_path import default_bin_path


@pytest.mark.parametrize(
    ("param", "bin"),
    [
        ("net.param", "net.bin"),
        ("net.param.bin", "net.bin"),
        ("folder.param/net.param", "folder.param/net.bin"),
        ("../v1.2/net.opt.param", "../v1.2/net.opt.bin"),
        ("net", "net.bin"),
        ("net.txt", "net.txt.bin"),
    ],
)
def test_beside_the_graph(param: str, bin: str) -> None:
    """Of text and binary graphs, whatever their folder is called, as a text or a path."""
    assert default_bin_path(param) == bin
    assert default_bin_path(Path(param)) == str(Path(bin))
