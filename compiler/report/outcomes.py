"""What `bench` and `verify` found, for a report."""

from __future__ import annotations

from math import isfinite

from ncc.compiler.measure.bench import Benchmark
from ncc.compiler.report.facts import Result, Results, Roof, Time
from ncc.compiler.verification.onnx_nodes import NodeReport
from ncc.compiler.verification.report import Report
from ncc.dialects.shapes import shown


def time_of(measured: Benchmark) -> Time:
    """The time of a run, and the peaks of the machine."""
    roofline, time = measured.roofline, measured.time
    roof = Roof(
        roofline.gigaflops,
        roofline.tile_gigaflops or None,
        roofline.byte_gigaflops or None,
        roofline.gigabytes,
    )
    return Time(time.min, time.median, time.p95, time.runs, measured.gigaflops, roof)


def of_layers(report: Report) -> Results:
    """Compiled code beside exact results, and ncnn."""
    rows = tuple(
        Result(
            row.layer,
            row.type,
            row.blob,
            shown(row.shape),
            _finite(row.error),
            row.differs(report.tolerance),
            row.fused,
            row.noise,
            row.times,
            _finite(row.ncnn),
        )
        for row in report.rows
    )
    return Results("exact results of the layers' definitions, in float64", rows, report.no_ncnn)


def of_onnx(report: NodeReport) -> Results:
    """Compiled code beside onnxruntime, value by value."""
    rows = tuple(
        Result(
            row.node,
            row.type,
            row.value,
            shown(row.shape),
            _finite(row.difference),
            row.differs(report.tolerance),
            row.for_use,
        )
        for row in report.rows
    )
    return Results("onnxruntime", rows, "an .onnx is compared with onnxruntime")


def _finite(value: float | None) -> float | None:
    """A number that JSON can say; None stands for a difference without measure."""
    return value if value is not None and isfinite(value) else None
