"""The report of `ncc verify`: one row for each blob, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from ncc.dialects.shapes import shown

TOLERANCE = 2.0**-22
"""The largest difference that counts as none, as a part of the blob's largest value. It is two
units in the last place of that value.
"""

TIMES, TIMES_OF_OUTPUTS = 4.0, 8.0
"""How many times its noise a blob may be off: the result of a layer on given inputs, and an output
of the network. One large value makes all results of a Winograd tile 3.4 times as noisy as samples
show. On the way to an output, rounding may grow in more ways.
"""

WEIGHT = 1e-4
"""How far a weight may be off, as a part of the largest one. Winograd's transformed weights are off
by a hundredth of that.
"""

OF_NOISE = 0.25
"""The part of the noise from which on an error says something about weights. A smaller error is
rounding, though it may have something in common with what a weight multiplies.
"""

APART = 1e-4
"""The largest difference of a blob without noise, and the largest one to ncnn, which approximates
some functions.
"""

TIMES_OF_NCNN = 16.0
"""The largest difference to ncnn, as a multiple of the largest noise."""


@dataclass(frozen=True)
class Row:
    """One blob, and how far compiled code is off.

    error: the largest difference between compiled code and the exact values, as a part of the
    largest exact value. noise: the same for a sample of float32. times: the error of the farthest
    slice of the blob, as a multiple of the noise of this slice. Where values jump, noise and times
    are None, and only the error counts. ncnn: the error of ncnn on the same inputs; None if ncnn
    did not run. fused: whether the blob is an output of the network as a user gets it; the other
    blobs are judged layer by layer, on the inputs that compiled code gave. rounded: whether the
    layer rounds to int8; ncnn estimates the reciprocals for that. weight: if the error of a
    convolution shows that a weight is wrong, how far the weight is off, as a part of the largest
    one.
    """

    layer: str
    type: str
    blob: str
    shape: tuple[int, ...]
    error: float
    noise: float | None = None
    times: float | None = None
    ncnn: float | None = None
    fused: bool = False
    rounded: bool = False
    weight: float = 0.0

    def is_off(self, tolerance: float = TOLERANCE) -> bool:
        """Whether compiled code gives something else than the definition."""
        stands_out = self.times is None or self.times > OF_NOISE
        if self.weight > WEIGHT and stands_out and self.error > tolerance:
            return True
        if self.times is None:
            return not self.error <= max(tolerance, APART)
        most = TIMES_OF_OUTPUTS if self.fused else TIMES
        # ncnn computes the layer on the same inputs: an error not larger than ncnn's is rounding.
        as_ncnn = not self.fused and self.ncnn is not None and self.error <= self.ncnn < APART
        near = self.times <= most or as_ncnn
        return not (self.error <= tolerance or (near and self.error < inf))

    def is_disputed(self, tolerance: float = TOLERANCE) -> bool:
        """Whether ncnn gives something else than the definition, on the same inputs.

        An output is never disputed: in ncnn, rounding may grow differently on the way to it.
        """
        if self.fused or self.rounded or self.ncnn is None:
            return False
        return not self.ncnn <= max(tolerance, APART, TIMES_OF_NCNN * (self.noise or 0.0))

    def differs(self, tolerance: float = TOLERANCE) -> bool:
        """Whether something is wrong with this blob."""
        return self.is_off(tolerance) or self.is_disputed(tolerance)


@dataclass(frozen=True)
class Report:
    """Every blob in the order of the layers, then the outputs of the network as a user gets it.

    no_ncnn: the reason why ncnn did not run; None if it did.
    """

    rows: tuple[Row, ...]
    tolerance: float
    no_ncnn: str | None

    @property
    def first(self) -> Row | None:
        """The first blob that differs."""
        return next((row for row in self.rows if row.differs(self.tolerance)), None)


def report_lines(report: Report) -> Iterable[str]:
    """The report as a table: one line for each blob, with a mark if it differs."""
    if report.no_ncnn is not None:
        yield f"not held against ncnn: {report.no_ncnn}"
    width = max((len(row.blob) for row in report.rows), default=4)
    head = f"  {'layer type':<22} {'blob':<{width}}  {'shape':<18}"
    yield f"{head} {'error':>8} {'noise':>8} {'times':>6} {'ncnn':>8}"
    for number, row in enumerate(report.rows):
        if row.fused and (not number or not report.rows[number - 1].fused):
            yield "as compiled for use:"
        mark = "!" if row.differs(report.tolerance) else " "
        where = f"{row.type:<22} {row.blob:<{width}}  {shown(row.shape):<18}"
        times = "-" if row.times is None else f"{row.times:.1f}"
        yield (
            f"{mark} {where} {row.error:8.1e} {_part(row.noise)} {times:>6} {_part(row.ncnn)}"
        ).rstrip()


def _part(value: float | None) -> str:
    return f"{'-':>8}" if value is None else f"{value:8.1e}"
