"""Calls in threads of their own."""

from __future__ import annotations

from threading import Event

import pytest

from ncc.runtime.beside import Beside


def test_a_call_goes_on_beside_its_caller() -> None:
    """It has begun when it is made, and its result is waited for."""
    go, begun = Event(), Event()

    def call() -> str:
        begun.set()
        assert go.wait(60)
        return "done"

    beside = Beside(call)
    assert begun.wait(60)
    go.set()
    assert beside.result() == beside.result() == "done"


def test_what_a_call_raises_comes_with_its_result() -> None:
    """Whatever it is."""

    def call() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Beside(call).result()
