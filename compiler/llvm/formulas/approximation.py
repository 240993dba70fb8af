"""Coefficients of polynomials that approximate functions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def interpolated(
    function: Callable[[Array], Array], low: float, high: float, degree: int
) -> tuple[float, ...]:
    """Coefficients, constant first, of a polynomial near a function on [low, high].

    It equals the function at the zeros of a Chebyshev polynomial of the interval, so that its
    largest error is within a small factor of the least possible one (Trefethen, Approximation
    Theory and Approximation Practice, theorem 16.1).
    """
    series = np.polynomial.Chebyshev.interpolate(function, degree, domain=[low, high])
    return tuple(float(c) for c in series.convert(kind=np.polynomial.Polynomial).coef)
