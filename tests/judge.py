"""Judges how recordings of layers fare that some code computes, many at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ncc.compiler.diagnostics import NccError
from ncc.dialects.weights.sources import Array
from tests.layer_table import PASSED, Judged
from tests.recorded import Case

MARKED: dict[str, Callable[[Case], bool]] = {
    "a result without elements": lambda case: case.type == "Diag" and not case.outputs[0].size,
}
"""Why a recording is not compared, and which ones are meant."""


def mark(case: Case) -> str | None:
    """The reason why a recording is not compared; None where it is."""
    return next((reason for reason, holds in MARKED.items() if holds(case)), None)


def judge(cases: Sequence[Case], run: Callable[[Sequence[Case]], dict[str, Array]]) -> Judged:
    """How recordings fare that `run` computes: all of them at once, or else one by one.

    `run` gives the results of many recordings by the blob names of their batch.
    """
    judged = {case.id: mark(case) for case in cases}
    left = [case for case in cases if judged[case.id] is None]
    if not left:
        return {id: reason or PASSED for id, reason in judged.items()}
    try:
        found = run(left)
        judged |= {case.id: _verdict(case, found, n) for n, case in enumerate(left)}
    except NccError as error:
        if len(left) == 1:
            judged[left[0].id] = f"failed: {_first_line(error)}"
        else:
            for case in left:
                judged |= judge([case], run)
    return {id: reason or PASSED for id, reason in judged.items()}


def _verdict(case: Case, found: dict[str, Array], n: int) -> str:
    for k, expected in enumerate(case.expected):
        got = found[f"out{n}_{k}"]
        if got.size == expected.size == 0:
            continue
        if got.shape != expected.shape:
            return f"failed: a shape of {got.shape}, not {expected.shape}"
        wrong = int(_apart(got, expected, case.eps).sum())
        if wrong:
            return f"failed: {wrong} of {got.size} values of {case} are wrong"
    return PASSED


def _apart(got: Array, expected: Array, eps: float) -> Array:
    a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= eps * np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    return np.asarray(~(near | (a == b) | (np.isnan(a) & np.isnan(b))))


def _first_line(error: NccError) -> str:
    return (str(error).splitlines() or [""])[0].rpartition("error: ")[2]


def failed(judged: Judged) -> list[str]:
    """What no mark explains."""
    return [f"{id} {why}" for id, why in judged.items() if why.startswith("failed")]
