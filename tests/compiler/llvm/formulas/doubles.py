"""How far a function of float64 is from that of a wider type of numpy, and at the edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import unary
from ncc.dialects.weights.sources import Array
from tests.typed import run

COUNT = 2000
TARGETS = ("baseline", "avx2", pytest.param("avx512", marks=pytest.mark.slow))


def spread(low: float, high: float) -> Array:
    """Numbers of either sign, as many of each order of magnitude."""
    draw = np.random.default_rng(0)
    sizes = np.exp(draw.uniform(np.log(low), np.log(high), COUNT))
    return np.asarray(sizes * draw.choice([-1, 1], COUNT))


def linear(low: float, high: float) -> Array:
    return np.random.default_rng(1).uniform(low, high, COUNT)


Case: TypeAlias = tuple[type[Operation], Callable[..., Array], Sequence[Array], float]
"""A function, the exact one, its arguments, and the most units of the last place."""

EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 2.0, -2.0, 0.5, 710.5, -750.0])


def units(found: Array, exact: Array) -> float:
    """The largest error in units of the last place of the exact result."""
    nearest = exact.astype(np.float64)
    known = np.isfinite(nearest) & (np.abs(nearest) > 1e-300)
    error = np.abs(found[known] - exact[known]) / np.spacing(np.abs(nearest[known]))
    return float(error.max())


def check(cases: Mapping[str, Case], target: str) -> None:
    """All functions in one module: errors, and what numpy makes of infinities, NaN and zeros."""
    arguments = [[*x, EDGES] for _, _, x, _ in cases.values()]
    sizes = [sum(map(len, x)) for x in arguments]

    def write(b: Builder, *xs: Tensor) -> list[Tensor]:
        made = []
        for (operation, _, _, _), x in zip(cases.values(), xs, strict=True):
            (at,) = b.loops_of(x.shape)
            made.append(b.map((at,), unary(operation)(x[at])))
        return made

    given = [np.concatenate(x) for x in arguments]
    found = run([((size,), f64) for size in sizes], write, given, 2, target)
    for (name, case), x, y in zip(cases.items(), given, found, strict=True):
        _, function, _, most = case
        inside = len(x) - len(EDGES)
        with np.errstate(all="ignore"):
            exact = function(x[:inside].astype(np.longdouble))
            at_edges = function(EDGES)
        assert (found_units := units(y[:inside], exact)) <= most, (name, found_units)
        np.testing.assert_allclose(y[inside:], at_edges, rtol=1e-14, err_msg=name)
        for zero, wanted in zip(y[inside:][:2], at_edges[:2], strict=True):
            assert np.isnan(wanted) or np.signbit(zero) == np.signbit(wanted), name
