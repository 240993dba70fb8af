"""Layer types from outside: packages that declare them, and types that nobody declares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.layer import LAYERS, Layer, layer
from ncc.dialects.ncnn.network import Network

INPUT = "Input data 0 1 data 0=8 1=8 2=4"


@pytest.fixture
def package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], None]]:
    """package(module, text): make a module, as an installed package names it in its entry point."""

    def install(module: str, text: str) -> None:
        folder = tmp_path / "site"
        info = folder / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (folder / f"{module}.py").write_text(text)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ncc.layers]\n{module} = {module}\n")
        monkeypatch.syspath_prepend(folder)

    before = set(LAYERS)
    yield install
    for type in set(LAYERS) - before:
        del LAYERS[type]


def test_a_type_is_known_from_an_installed_package(
    package: Callable[[str, str], None], write: Callable[..., Path]
) -> None:
    """Its module is imported when a file names a type that ncc does not have."""
    package(
        "ncc_test_doubling",
        "from ncc.layers import Layer, layer\n"
        "@layer('Doubling')\n"
        "class DoublingOp(Layer):\n"
        '    """y = 2 x."""\n',
    )
    assert "Doubling" not in LAYERS
    module = read(write(f"{INPUT}\nDoubling d 1 1 data a")).module
    assert type(Network.of(module).layers[1]) is LAYERS["Doubling"]


def test_a_package_that_cannot_be_imported_is_named(
    package: Callable[[str, str], None], write: Callable[..., Path]
) -> None:
    """With what went wrong in it; a file that needs no package is read all the same."""
    package("ncc_test_broken", "import nothing_of_that_name\n")
    read(write(INPUT))
    with pytest.raises(Unsupported, match="package 'ncc_test_broken'.*nothing_of_that_name"):
        read(write(f"{INPUT}\nDoubling d 1 1 data a"))


def test_a_type_is_declared_once() -> None:
    """Two classes of one name would make the meaning of a file depend on an order of imports."""
    with pytest.raises(ValueError, match="'ReLU' is declared twice, by ncc.dialects.ncnn"):

        @layer("ReLU")
        class Other(Layer):
            """Never declared."""


def test_a_class_may_be_written_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a cell of a notebook is, that is run again."""
    monkeypatch.setattr("ncc.dialects.ncnn.layer.LAYERS", {})
    for _ in range(2):

        @layer("Doubling")
        class DoublingOp(Layer):
            """y = 2 x."""

    with pytest.raises(ValueError, match="'Doubling' is declared twice"):

        @layer("Doubling")
        class Other(Layer):
            """y = x + x."""


def test_all_unknown_types_are_told_at_once(write: Callable[..., Path]) -> None:
    """Each with its lines and what was probably meant; the last says how to go on."""
    layers = f"""
        {INPUT}
        Convolutoin c 1 1 data a
        MyPool p 1 1 a b
        Convolutoin d 1 1 b e
        Convolutoin f 1 1 e g
    """
    with pytest.raises(ModelError) as caught:
        read(write(layers))
    first, second = caught.value.problems
    assert first.message == "no layer type 'Convolutoin' (also on lines 6, 7)"
    assert (first.line, first.column, first.width) == (4, 1, len("Convolutoin"))
    assert (first.suggestion, first.how) == ("Convolution", None)
    assert second.message == "no layer type 'MyPool'"
    assert second.how is not None and "ncc optimize" in second.how


def test_a_network_can_end_before_an_unknown_type(write: Callable[..., Path]) -> None:
    """What the outputs asked for need is all that has to be known; weights behind are found."""
    layers = f"""
        {INPUT}
        Split s 1 2 data a b
        Frob f 1 1 a c 0=3
        BinaryOp d 2 1 c b e
        Bias g 1 1 b h 0=4
    """
    path = write(layers, np.arange(4, dtype="<f4").tobytes())
    network = Network.of(read(path, outputs=["h"]).module)
    assert [op.type_name for op in network.layers] == ["Input", "Split", "Bias"]
    x = np.ones((4, 8, 8), np.float32)
    found = ncc.compile(path, outputs=["h"])(x)
    np.testing.assert_array_equal(found[:, 0, 0], [1, 2, 3, 4])
    for outputs in (None, ["h", "e"], ["c"]):
        with pytest.raises(ModelError, match="no layer type 'Frob'"):
            read(path, outputs=outputs)
