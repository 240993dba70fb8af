"""The verdict on a blob, and the table of all."""

from __future__ import annotations

from typing import Any

from ncc.compiler.verification.report import APART, Report, Row, report_lines

NAN = float("nan")


def row(error: float, noise: float | None, times: float | None, **more: Any) -> Row:
    return Row("l", "T", "b", (1,), error, noise, times, **more)


def test_a_difference_that_is_no_number_is_a_difference() -> None:
    """No comparison with NaN may pass a wrong blob."""
    assert row(NAN, None, None).differs()
    assert row(NAN, 1e-7, 1.0).differs()
    assert row(1e-3, 1e-7, NAN).differs()
    assert row(0.0, 1e-7, 0.0, ncnn=NAN).differs()


def test_a_blob_differs_by_the_times_of_its_noise() -> None:
    """An output from more on than a layer, which is given its inputs; none below the tolerance."""
    assert not row(0.1, 0.1, 3.9).differs() and row(0.1, 0.1, 4.1).differs()
    assert not row(0.1, 0.1, 7.9, fused=True).differs()
    assert row(0.1, 0.1, 8.1, fused=True).differs()
    assert not row(1e-7, 0.0, 9.0).differs() and not row(1e-4, 0.0, 9.0).differs(1e-3)


def test_where_no_noise_is_known_the_error_decides() -> None:
    """Of what jumps."""
    assert not row(APART, None, None).differs() and row(2 * APART, None, None).differs()
    assert not row(2 * APART, None, None).differs(3 * APART)


def test_ncnn_may_dispute_a_definition() -> None:
    """On the same inputs; not what becomes of its rounding, nor what it rounds by estimates."""
    assert not row(0.0, 1e-7, 0.0, ncnn=APART).differs()
    assert row(0.0, 1e-7, 0.0, ncnn=2 * APART).differs()
    assert not row(0.0, APART, 0.0, ncnn=2 * APART).differs()
    assert not row(0.0, 1e-7, 0.0, ncnn=0.1, fused=True).differs()
    assert not row(0.0, 1e-7, 0.0, ncnn=0.1, rounded=True).differs()


def test_the_table_marks_what_differs() -> None:
    """One blob a line, an exclamation mark before the wrong ones."""
    right = Row("a", "ReLU", "x", (2, 3), 0.0, 1e-7, 0.0, 1e-7)
    wrong = Row("b", "ReLU", "y", (2,), 0.5, None, None, None, True)
    lines = list(report_lines(Report((right, wrong), 1e-4, None)))
    assert lines[1].split() == ["ReLU", "x", "2x3", "0.0e+00", "1.0e-07", "0.0", "1.0e-07"]
    assert lines[2] == "as compiled for use:"
    assert lines[3].split() == ["!", "ReLU", "y", "2", "5.0e-01", "-", "-", "-"]


def test_a_weight_that_is_off_decides() -> None:
    """From a quarter of the noise on, unless the result is as good as right."""
    assert row(1e-6, 1e-5, 0.3, weight=2e-4).differs()
    assert not row(1e-6, 1e-5, 0.2, weight=2e-4).differs()
    assert not row(1e-6, 1e-5, 0.1, weight=5e-5).differs()
    assert not row(1e-7, 1e-5, 0.1, weight=2e-4).differs()
