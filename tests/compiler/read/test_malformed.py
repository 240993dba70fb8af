"""Broken models, each with the message it must give.

Beside every tests/errors/<what>.param (with a .bin where it needs one) stands <what>.txt, the text
of the error. After a change of messages, write them anew with

    python tests/compiler/read/test_malformed.py

and read the difference.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read

ERRORS = Path(__file__).parents[2] / "errors"
MODELS = sorted(path.stem for path in ERRORS.glob("*.param"))


def message_of(name: str) -> str:
    """The error that reading a model gives, or else giving it shapes."""
    with pytest.raises(ModelError) as caught:
        infer_shapes(read(f"{name}.param").module)
    return f"{caught.value}\n"


@pytest.mark.parametrize("name", MODELS)
def test_a_broken_model_gives_its_message(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """File, line and column, the line with a caret, what was expected and what was found."""
    monkeypatch.chdir(ERRORS)
    assert message_of(name) == Path(f"{name}.txt").read_text()


def test_no_message_is_left_over() -> None:
    """Each text belongs to a model."""
    assert sorted(path.stem for path in ERRORS.glob("*.txt")) == MODELS


def bless() -> None:
    """Write every message anew."""
    os.chdir(ERRORS)
    for name in MODELS:
        Path(f"{name}.txt").write_text(message_of(name))


if __name__ == "__main__":
    bless()
