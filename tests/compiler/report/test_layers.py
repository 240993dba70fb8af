"""The layers of a report: what became of each, and why other passes did not change it."""

from __future__ import annotations

from pathlib import Path

from ncc.compiler.report.facts import Facts, Layer, Reason, Step
from ncc.compiler.report.layers import with_steps
from tests.compiler.report.conftest import of_text


def named(layers: tuple[Layer, ...], name: str) -> Layer:
    (found,) = [layer for layer in layers if layer.name == name]
    return found


def test_layers_of_the_file(facts: Facts) -> None:
    """In order, with their lines; a Split is none, and its readers read what it reads."""
    names = ["data", "first", "act", "drop", "pool", "side", "score"]
    assert [layer.name for layer in facts.file] == names
    first = named(facts.file, "first")
    assert first.source == "Convolution  first  1 1 data first 0=16 1=3 4=1 5=1 6=2304"
    assert (first.line, first.weights, first.multiply_adds) == (4, 2320, 2304 * 64)
    assert [(b.name, b.type, b.shape) for b in first.blobs] == [("first", "float32", "16x8x8")]
    assert named(facts.file, "side").reads == (names.index("drop"),)


def test_what_became_of_layers(facts: Facts) -> None:
    """Of each layer, the one that stands for it; of that one, all that it stands for."""
    now = [layer.name for layer in facts.now]
    fates = {layer.name: layer.fate for layer in facts.file}
    assert fates["data"] == fates["score"] == "kept"
    assert fates["first"] == fates["act"] == fates["drop"] == "changed"
    assert named(facts.file, "drop").became == now.index("first")
    first = named(facts.now, "first")
    assert [facts.file[number].name for number in first.made_of] == ["first", "act", "drop"]
    assert any(text.startswith("fuse_convolution_activation") for text in first.rewrites)


def test_a_layer_that_nobody_reads_is_gone(tmp_path: Path) -> None:
    """The report has the rewrite that took it."""
    text = "7767517\n3 3\nInput x 0 1 x 0=4\nDropout d 1 1 x d\nReLU r 1 1 d r\n"
    found = of_text(tmp_path, text)
    assert named(found.file, "d").fate in ("gone", "changed")
    assert named(found.file, "d").rewrites


def test_reasons_of_passes_that_did_not_fire(tmp_path: Path) -> None:
    """Two layers that are one, if no other layer read the first."""
    text = (
        "7767517\n4 5\nInput x 0 1 x 0=8 1=8 2=4\n"
        "Convolution conv 1 1 x conv 0=4 1=3 4=1 6=144\nSplit s 1 2 conv a b\nReLU r 1 1 a r\n"
    )
    conv = named(of_text(tmp_path, text).now, "r")
    reasons = {reason.by: reason.text for reason in conv.hindered}
    assert "conv" in reasons["fuse_convolution_activation"]


def test_operations_are_told_by_names() -> None:
    """Steps and decisions name layers; a step may compute several."""
    layers = (Layer("ReLU", "a", 0, "", (), (), 0, 0), Layer("ReLU", "b", 0, "", (), (0,), 0, 0))
    steps = [Step(("a", "b"), "k", 1, 1, 1, 1), Step(("b",), "k", 1, 1, 1, 1)]
    a, b = with_steps(layers, steps, {"b": [Reason("pass", "not, too small")]})
    assert (a.steps, b.steps) == ((0,), (0, 1))
    assert (a.decided, b.decided) == ((), (Reason("pass", "not, too small"),))
