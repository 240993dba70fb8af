"""The activations that ncnn fuses into a layer, and the formulas they share with layers.

| type | y                                              | params      |
|------|------------------------------------------------|-------------|
| 0    | x                                              |             |
| 1    | max(x, 0), and 0 for NaN                       |             |
| 2    | x where x > 0, else x * slope                  | slope       |
| 3    | x limited to [min, max]                        | min, max    |
| 4    | 1 / (1 + exp(-x))                              |             |
| 5    | x * tanh(ln(1 + exp(x)))                       |             |
| 6    | 0, x * (alpha x + beta) or x by two thresholds | alpha, beta |

NaN stays NaN but in type 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ncc.dialects.ncnn.layer import Array, Builder, Layer, LayerError, Tensor, integer, reals
from ncc.dialects.scalar import Scalar, clip, exp, maximum, select, sigmoid

LOGISTIC_LIMIT = 88.3762626647949
"""ncnn limits the argument of a logistic function to plus and minus this."""

_PARAM_COUNTS = (0, 0, 1, 2, 0, 0, 2)


def check_activation(kind: int, params: Sequence[float]) -> None:
    """Refuse an unknown activation type, or one without its params."""
    if not 0 <= kind < len(_PARAM_COUNTS):
        raise LayerError(f"activation type {kind} is none of 0 to 6", "activation_type")
    wanted = _PARAM_COUNTS[kind]
    if len(params) < wanted:
        raise LayerError(
            f"activation type {kind} takes {wanted} params, not {len(params)}",
            "activation_params",
        )


def activate_array(x: Array, kind: int, params: Sequence[float]) -> Array:
    """The fused activation of every element."""
    with np.errstate(all="ignore"):
        match kind:
            case 0:
                return x
            case 1:
                return np.fmax(x, np.float32(0))
            case 2:
                y = np.asarray(x * np.float32(params[0]))
                np.copyto(y, x, where=x > 0)
                return y
            case 3:
                return np.clip(x, np.float32(params[0]), np.float32(params[1]))
            case 4:
                return logistic_array(x)
            case 5:
                return x * np.tanh(np.log(np.exp(x) + np.float32(1)))
            case 6:
                return hard_swish_array(x, params[0], params[1])
    raise LayerError(f"activation type {kind} is none of 0 to 6", "activation_type")


def activate(x: Scalar, kind: int, params: Sequence[float]) -> Scalar:
    """The fused activation of one value."""
    match kind:
        case 0:
            return x
        case 1:
            return maximum(x, 0.0)
        case 2:
            return select(x > 0.0, x, x * params[0])
        case 3:
            return clip(x, params[0], params[1])
        case 4:
            return logistic(x)
        case 5:
            return mish(x)
        case 6:
            return hard_swish(x, params[0], params[1])
    raise LayerError(f"activation type {kind} is none of 0 to 6", "activation_type")


def logistic_array(x: Array) -> Array:
    """1 / (1 + exp(-x)), x limited as ncnn limits it."""
    limited = np.clip(x, np.float32(-LOGISTIC_LIMIT), np.float32(LOGISTIC_LIMIT))
    return np.asarray(np.float32(1) / (np.float32(1) + np.exp(-limited)))


def logistic(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x)), x limited as ncnn limits it."""
    return sigmoid(clip(x, -LOGISTIC_LIMIT, LOGISTIC_LIMIT))


def hard_limits(alpha: float, beta: float) -> tuple[float, float]:
    """Where alpha x + beta reaches 0 and 1; infinite or NaN for an alpha of 0, as in C."""
    with np.errstate(all="ignore"):
        slope, offset = np.float32(alpha), np.float32(beta)
        low = -offset / slope
        return float(low), float(np.float32(1) / slope + low)


def hard_swish_array(x: Array, alpha: float, beta: float) -> Array:
    """0 below the lower limit, x above the upper one, x * (alpha x + beta) between."""
    low, high = hard_limits(alpha, beta)
    between = x * (x * np.float32(alpha) + np.float32(beta))
    return np.where(x < low, np.float32(0), np.where(x > high, x, between))


def hard_swish(x: Scalar, alpha: float, beta: float) -> Scalar:
    """0 below the lower limit, x above the upper one, x * (alpha x + beta) between."""
    low, high = hard_limits(alpha, beta)
    between = x * (x * alpha + beta)
    return select(x < low, 0.0, select(x > high, x, between))


def mish(x: Scalar) -> Scalar:
    """x tanh(ln(1 + exp(x))) = x n / (n + 2), n = exp(x) (exp(x) + 2); above 20 that is x."""
    raised = exp(x)
    n = raised * (raised + 2.0)
    return select(x > 20.0, x, x * (n / (n + 2.0)))


class Activated(Layer):
    """A layer that ends in one of ncnn's fused activations."""

    activation_type = integer(9)
    activation_params = reals(10)

    def check(self) -> None:
        check_activation(self.activation_type, self.activation_params)

    def activate_array(self, y: Array) -> Array:
        """The activation of every element."""
        return activate_array(y, self.activation_type, self.activation_params)

    def activate(self, b: Builder, y: Tensor) -> Tensor:
        """The activation of every element, as a linalg operation of its own."""
        if self.activation_type == 0:
            return y
        at = b.loops_of(y.shape)
        return b.map(at, self.activated(y[at]))

    def activated(self, y: Scalar) -> Scalar:
        """The activation of one value."""
        return activate(y, self.activation_type, self.activation_params)
