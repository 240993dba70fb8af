"""What verification found: a row a blob, and the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf

from ncc.dialects.shapes import shown

TOLERANCE = 2.0**-22
"""Largest difference that counts as none, as a part of the blob's largest value: two units in its
last place.
"""

TIMES, TIMES_OF_OUTPUTS = 2.0, 8.0
"""How many times its noise a blob may be off: one of a layer on given inputs, and an output of the
network, to which rounding may grow in more ways than samples show.
"""

WEIGHT = 1e-4
"""How far a weight may be off, as a part of the largest one. Winograd's transformed weights are off
by a hundredth of that.
"""

APART = 1e-4
"""Largest difference where no noise is known, and to ncnn, which has approximations of its own."""

TIMES_OF_NCNN = 16.0
"""How many times the largest noise the largest difference to ncnn may be."""


@dataclass(frozen=True)
class Row:
    """One blob, and how far compiled code is off.

    error: the largest difference of compiled code to the exact values, as a part of the largest of
    these. noise: the same of float32 in another order. times: how many times its noise the farthest
    slice of the blob is off. noise and times are None where values jump: then only the error
    counts. ncnn: the error of ncnn on the same inputs; None where it was not run. fused: whether
    the blob is an output of the network as a user gets it; the others are judged layer by layer,
    each by what compiled code gave it. rounded: whether the layer rounds to int8: ncnn estimates
    the reciprocals for that. weight: how far a weight is off by which a convolution acts, as a part
    of the largest one, where that shows in its error.
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
        # An error far below the noise is rounding, whatever it has in common with a weight.
        stands_out = self.times is None or self.times > 0.25
        if self.weight > WEIGHT and stands_out and self.error > tolerance:
            return True
        if self.times is None:
            return not self.error <= max(tolerance, APART)
        most = TIMES_OF_OUTPUTS if self.fused else TIMES
        # ncnn computes a layer on the same values: what is no farther off than ncnn is rounding.
        as_ncnn = not self.fused and self.ncnn is not None and self.error <= self.ncnn < APART
        near = self.times <= most or as_ncnn
        return not (self.error <= tolerance or (near and self.error < inf))

    def is_disputed(self, tolerance: float = TOLERANCE) -> bool:
        """Whether ncnn gives something else than the definition, on the same inputs.

        Of an output that says nothing: rounding in front of it may grow differently.
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

    no_ncnn: why ncnn was not run; None where it was.
    """

    rows: tuple[Row, ...]
    tolerance: float
    no_ncnn: str | None

    @property
    def first(self) -> Row | None:
        """The first blob that differs."""
        return next((row for row in self.rows if row.differs(self.tolerance)), None)


def report_lines(report: Report) -> Iterable[str]:
    """The report as a table, one blob a line; those that differ are marked."""
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
