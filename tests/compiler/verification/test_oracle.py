"""ncnn in a process of its own: who is to blame where that ends too early."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.verification import oracle


@pytest.mark.parametrize(
    ("answered", "failed"),
    [
        ([0, 2], [0]),
        ([1, 2], []),  # a crash behind another one's answer, and at the end of the process
        ([3], []),
    ],
)
def test_who_crashes_first_in_a_process_has_failed(
    answered: list[int], failed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are run again: what crashed behind an answer may be the fault of who gave it."""
    turns = iter(answered)

    def work(requests: str, timeout: float) -> str:
        for request in json.loads(requests)[: next(turns)]:
            folder = Path(request["folder"])
            (folder / oracle.NAMES).write_text('["y"]')
            np.savez(folder / oracle.OUTPUTS, np.zeros(1, np.float32))
        return "ncnn crashed"

    monkeypatch.setattr(oracle, "available", lambda: True)
    monkeypatch.setattr(oracle, "work", work)
    jobs = [oracle.Job("n.param", "n.bin", {}) for _ in range(3)]
    answers = oracle.run_all(jobs)
    assert [k for k, answer in enumerate(answers) if isinstance(answer, oracle.OracleError)] == (
        failed
    )


def test_an_end_without_an_answer_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the system does not say how a process ended: nobody asks again for ever."""
    monkeypatch.setattr(oracle, "available", lambda: True)
    monkeypatch.setattr(oracle, "work", lambda requests, timeout: None)
    (answer,) = oracle.run_all([oracle.Job("n.param", "n.bin", {})])
    assert isinstance(answer, oracle.OracleError) and "without an answer" in str(answer)
