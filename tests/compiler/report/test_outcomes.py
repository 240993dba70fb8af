"""What was measured and compared, in the words of a report."""

from __future__ import annotations

from math import inf

from ncc.compiler.report.outcomes import of_layers, of_onnx
from ncc.compiler.verification.onnx_nodes import NodeReport, NodeRow
from ncc.compiler.verification.report import Report, Row


def test_of_layers() -> None:
    """Rows of verify, with shapes as texts and without infinities, which JSON has not."""
    rows = (
        Row("a", "ReLU", "a", (3, 4), 0.5, 1e-7, 1e6, 1e-7),
        Row("a", "ReLU", "a", (3, 4), inf, fused=True),
    )
    found = of_layers(Report(rows, 1e-6, "no wheel"))
    assert found.no_ncnn == "no wheel" and found.differing == 2
    inner, output = found.rows
    assert (inner.shape, inner.error, inner.ncnn, inner.is_output) == ("3x4", 0.5, 1e-7, False)
    assert (output.error, output.is_output) == (None, True), "an infinite error has no measure"


def test_of_onnx() -> None:
    """Rows of the comparison with onnxruntime."""
    rows = (NodeRow("n", "Relu", "y", (2,), 1e-7, False), NodeRow("", "output", "y", (2,), 1, True))
    found = of_onnx(NodeReport(rows, 1e-4))
    assert [row.differs for row in found.rows] == [False, True]
    assert found.reference == "onnxruntime" and found.no_ncnn
