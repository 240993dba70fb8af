"""Computations that many networks of these tests have."""

from __future__ import annotations

from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import maximum


def relu(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, maximum(x[at], 0.0))


def add(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] + y[at])
