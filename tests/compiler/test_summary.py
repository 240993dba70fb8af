"""What a network consists of, as its .param tells it."""

from __future__ import annotations

from pathlib import Path

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.summary import summary_of

LINES = """
Input data 0 1 data {shape}
Convolution conv 1 1 data conv 0=4 1=3 5=1 6=108
Split twice 1 2 conv a b
Slice halves 1 2 a c d -23300=2,2,-233
BinaryOp sum 2 1 c d sum
Surprise odd 1 1 b odd
"""


def written(folder: Path, shape: str) -> Path:
    lines = LINES.format(shape=shape).strip().splitlines()
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 9", *lines, ""]))
    return path


def test_every_blob_is_a_line(tmp_path: Path) -> None:
    """With its shape; the layer's weights and products on the first, the sums last. No .bin is
    there; a type that nobody knows is a line as well, without shapes behind it.
    """
    summary = summary_of(written(tmp_path, "0=8 1=6 2=3"))
    assert summary.unknown is None
    assert list(map(str, summary.inputs)) == ["data  float32 3x6x8"]
    assert list(map(str, summary.outputs)) == ["sum  float32 2x4x6", "odd  float32 ?"]
    products = f"{4 * 3 * 9 * 4 * 6:,}"
    assert [line.split() for line in summary.table()][1:] == [
        ["Input", "data", "data", "3x6x8", "-", "-"],
        ["Convolution", "conv", "conv", "4x4x6", "112", products],
        ["Slice", "halves", "c", "2x4x6", "-", "-"],
        ["d", "2x4x6"],
        ["BinaryOp", "sum", "sum", "2x4x6", "-", "-"],
        ["Surprise", "odd", "odd", "?", "-", "?"],
        ["5", "layers", "112", products],
    ]


def test_shapes_that_nobody_says(tmp_path: Path) -> None:
    """All else is told, and why they are not known; who says them knows them."""
    param = written(tmp_path, "")
    summary = summary_of(param)
    assert isinstance(summary.unknown, ModelError) and "--shape data=" in str(summary.unknown)
    assert [line.split() for line in summary.table()][-1] == ["5", "layers", "112", "?"]
    assert summary_of(param, {"data": (3, 6, 8)}).unknown is None


def test_what_a_compilation_would_say(tmp_path: Path) -> None:
    """Of types that nobody knows, and of what the file says in vain."""
    summary = summary_of(written(tmp_path, "0=8 1=6 2=3 7=1"))
    assert summary.unknown_types == ("Surprise",)
    assert "net.param:8:1: error: no layer type 'Surprise'" in str(summary.refusal)
    (warning,) = summary.warnings
    assert "net.param:3: warning: Input 'data' has no parameter 7" in warning
    path = tmp_path / "net.param"
    path.write_text(path.read_text().replace("Surprise", "ReLU").replace(" 7=1", ""))
    summary = summary_of(path)
    assert (summary.unknown_types, summary.refusal, summary.warnings) == ((), None, ())


def test_weights_are_looked_at_where_they_lie_beside_it(tmp_path: Path) -> None:
    """What no training leaves is warned of; what cannot be read is, too, and is no error."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput x 0 1 x 0=40\nInnerProduct fc 1 1 x y 0=2 2=80\n")
    weights = path.with_suffix(".bin")
    for content, says in ((bytes(4 + 320), "is 100 % zero"), (bytes(4), "cannot be read")):
        weights.write_bytes(content)
        summary = summary_of(path)
        assert summary.weights == 80
        assert [says in text for text in summary.warnings] == [True]
    weights.unlink()
    assert summary_of(path).weights == 80
