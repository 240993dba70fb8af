"""The check of operators that become several layers: by the wheel of ncnn, against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.runtime.results import Array
from tests.onnx.converted import check_converted
from tests.onnx.models import model, written

Check: TypeAlias = Callable[..., None]


@pytest.fixture
def converts(tmp_path: Path) -> Check:
    """Checks nodes that read x (and others), and make y (and others)."""
    onnxruntime = pytest.importorskip("onnxruntime")
    pytest.importorskip("ncnn")

    def check(
        nodes: Sequence[Any],
        inputs: Mapping[str, Array],
        constants: Mapping[str, Array] | None = None,
        outputs: Sequence[str] = ("y",),
    ) -> None:
        made = model(nodes, inputs, outputs, constants, ir_version=10)
        path = str(written(tmp_path, made))
        session = onnxruntime.InferenceSession(path)
        found = session.run(list(outputs), dict(inputs))
        check_converted(path, inputs, dict(zip(outputs, found, strict=True)))

    return check


@pytest.fixture
def refuses(tmp_path: Path) -> Check:
    """The same of nodes that ncnn cannot express, by a part of the error."""

    def check(
        nodes: Sequence[Any],
        inputs: Mapping[str, Array],
        constants: Mapping[str, Array],
        said: str,
    ) -> None:
        path = str(written(tmp_path, model(nodes, inputs, ["y"], constants)))
        with pytest.raises(Unsupported, match=said):
            check_converted(path, inputs, {"y": np.zeros(1)})

    return check


@pytest.fixture
def numbers() -> Callable[..., Array]:
    """The same numbers of a normal distribution each time."""
    rng = np.random.default_rng(3)
    return lambda *shape: rng.standard_normal(shape, np.float32)
