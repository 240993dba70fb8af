"""Trained ONNX networks of packages, at several sizes. Each is compiled once, with its own open
shapes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from tests.onnx.packages import NETWORKS, folder_of

pytestmark = pytest.mark.sweep

FOR_EACH_SHAPE = {"silero", "silero-ifless"}
"""Networks of which the rate decides which nodes run."""


def session(path: Path) -> Any:
    """What onnxruntime makes of a file."""
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_as_onnxruntime_at_all_sizes(name: str) -> None:
    """At most two versions serve all sizes."""
    package, file, feeds_of = NETWORKS[name]
    path = folder_of(package) / file
    if not path.exists():
        pytest.skip(f"this version of {package} has no {file}")
    peer, model = session(path), ncc.compile(path)
    names = [output.name for output in peer.get_outputs()]
    largest = 0.0
    for feeds in feeds_of():
        found, expected = model.run(feeds), peer.run(None, dict(feeds))
        for output, array in zip(names, expected, strict=True):
            assert found[output].shape == array.shape
            np.testing.assert_allclose(found[output], array, rtol=1e-4, atol=1e-4, err_msg=output)
            largest = max(largest, float(np.abs(array).max()))
    assert largest > 0.01, "the network says nothing about these inputs"
    assert (getattr(model, "reason", None) is None) == (name not in FOR_EACH_SHAPE)
