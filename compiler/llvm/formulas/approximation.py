"""Coefficients of polynomials that approximate functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Interpolated:
    """A polynomial near a function on [low, high].

    It equals the function at the zeros of a Chebyshev polynomial of the interval, so that its
    largest error is within a small factor of the least possible one (Trefethen, Approximation
    Theory and Approximation Practice, theorem 16.1).
    """

    function: Callable[[Array], Array]
    low: float
    high: float
    degree: int

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """The constant one first; computed for the first code that needs them."""
        domain = [self.low, self.high]
        series = np.polynomial.Chebyshev.interpolate(self.function, self.degree, domain=domain)
        return tuple(float(c) for c in series.convert(kind=np.polynomial.Polynomial).coef)
