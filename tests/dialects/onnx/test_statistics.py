"""Normalizations by statistics of a region."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import check_operator

RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 4, 3), np.float32)
SCALE, BIAS = RNG.standard_normal((2, 4, 1), np.float32)


def test_layers() -> None:
    """The last axes together; the mean, and 1 / deviation."""
    flat = X.reshape(2, -1)
    mean, inverse = flat.mean(1), 1 / np.sqrt(flat.var(1) + 1e-5)
    y = (X - mean[:, None, None]) * inverse[:, None, None] * SCALE + BIAS
    wanted = [y, *(one.astype(np.float32).reshape(2, 1, 1) for one in (mean, inverse))]
    check_operator("LayerNormalization", {"axis": 1}, [X, SCALE, BIAS], expected=wanted, outputs=3)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_roots_of_means(kind: Any) -> None:
    """In every type of floats."""
    x, scale = X.astype(kind), np.ones(3, kind)
    root = np.sqrt(np.square(x.astype(np.float64)).mean(-1, keepdims=True) + 1e-5)
    wanted = [(x / root).astype(kind)]
    check_operator("RMSNormalization", {}, [x, scale], expected=wanted, opset=23, rtol=2e-3)


@pytest.mark.parametrize(("opset", "numbers"), [(21, 4), (18, 2)])
def test_groups(opset: int, numbers: int) -> None:
    """Scaled by channel, or by group in older op sets."""
    scale, bias = RNG.standard_normal((2, numbers), np.float32)
    grouped = X.reshape(2, 2, -1)
    off = grouped - grouped.mean(2, keepdims=True)
    y = (off / np.sqrt(np.square(off).mean(2, keepdims=True) + 1e-5)).reshape(2, numbers, -1)
    wanted = [(y * scale[:, None] + bias[:, None]).reshape(X.shape)]
    given = [X, scale, bias]
    check_operator("GroupNormalization", {"num_groups": 2}, given, expected=wanted, opset=opset)


def test_norms() -> None:
    """A norm of zero leaves zeros."""
    x = np.array([[3, 4], [0, 0]], np.float32)
    wanted = np.array([[0.6, 0.8], [0, 0]], np.float32)
    check_operator("LpNormalization", {}, [x], expected=[wanted])


def test_responses_of_neighbours() -> None:
    """The channels around each, as far as there are any."""
    x = X[..., None]
    squares = np.pad(np.square(x), [(0, 0), (1, 1), (0, 0), (0, 0)])
    total = sum(squares[:, k : k + 4] for k in range(3))
    wanted = x / (2 + 0.3 / 3 * total) ** 0.5
    attributes = {"size": 3, "alpha": 0.3, "beta": 0.5, "bias": 2.0}
    check_operator("LRN", attributes, [x], expected=[wanted.astype(np.float32)])
