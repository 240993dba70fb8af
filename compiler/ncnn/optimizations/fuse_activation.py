"""Let the layer before an activation do it, and let two activations in a row be one.

    act2(act1(f(x))) = act(f(x))

where act is act2, or what the two compose to:

| act1           | act2           | together                                    |
|----------------|----------------|---------------------------------------------|
| none           | any            | act2                                        |
| ReLU           | ReLU, leaky    | act1                                        |
| leaky          | ReLU           | ReLU where the slope is not negative        |
| leaky          | leaky          | the product of slopes; act1 where negative  |
| ReLU, Clip     | Clip           | the limits of act1, clipped by act2         |
| Clip           | ReLU           | the limits, where they are positive         |
| Clip           | leaky          | act1 where its limits are not negative      |
| Sigmoid        | ReLU, leaky    | act1                                        |
| Sigmoid        | Clip           | act1 where [0, 1] is within the limits      |

Hosts are the layers that have an activation of their own. A ReLU of its own keeps NaN, that of a
host makes 0 of it, as ncnn has it (and infinity minus infinity is NaN); the formula of Mish in a
host leaves out thresholds that change nothing but rounding.

Needs: nothing.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.optimizations.optimization import optimization, register
from ncc.dialects.ncnn import dialect as dialect
from ncc.dialects.ncnn.canonicalize.pattern import (
    LayerPattern,
    Match,
    absorb,
    in_place_of,
    is_private,
    producer,
)
from ncc.dialects.ncnn.elementwise.activation import Activated
from ncc.dialects.ncnn.elementwise.activation_layers import (
    ClipOp,
    HardSwishOp,
    MishOp,
    ReLUOp,
    SigmoidOp,
)
from ncc.dialects.ncnn.layer import LAYERS, Layer

NONE, RELU, LEAKY, CLIP, SIGMOID, MISH, HARD_SWISH = range(7)
"""ncnn's activation types."""

LAST_FP32_SCALE_TERM = 100
"""An int8 layer with a higher int8_scale_term makes an int8 result."""

ACTIVATIONS = (ReLUOp, ClipOp, SigmoidOp, MishOp, HardSwishOp)


class Activation(NamedTuple):
    """One of ncnn's activations: its type, and its params."""

    kind: int
    params: tuple[float, ...] = ()

    @property
    def limits(self) -> tuple[float, float] | None:
        """The limits of a ReLU or a Clip."""
        if self.kind == RELU:
            return 0.0, inf
        return (self.params[0], self.params[1]) if self.kind == CLIP else None

    @property
    def negative_slope(self) -> float | None:
        """The factor of negative values of a ReLU, leaky or not."""
        return {RELU: 0.0, LEAKY: self.params[0] if self.params else 0.0}.get(self.kind)


def activation_of(op: Layer) -> Activation | None:
    """An activation layer as an activation that a host can have."""
    match op:
        case ReLUOp():
            return Activation(LEAKY, (op.slope,)) if op.slope else Activation(RELU)
        case ClipOp():
            return Activation(CLIP, (op.min, op.max))
        case SigmoidOp():
            return Activation(SIGMOID)
        case MishOp():
            return Activation(MISH)
        case HardSwishOp():
            return Activation(HARD_SWISH, (op.alpha, op.beta))
    return None


def compose(first: Activation, second: Activation) -> Activation | None:
    """second(first(x)) as one activation, or None where there is none."""
    if first.kind == NONE:
        return second
    slope, limits = second.negative_slope, second.limits
    if slope is not None:
        return _then_relu(first, second, slope)
    if second.kind != CLIP or limits is None or limits[0] > limits[1]:
        return None
    if first.kind == SIGMOID:
        return first if limits[0] <= 0 and limits[1] >= 1 else None
    return None if first.limits is None else _clipped(first.limits, limits)


def _then_relu(first: Activation, second: Activation, slope: float) -> Activation | None:
    """A ReLU, leaky or not, behind another activation."""
    if first.kind in (RELU, SIGMOID):
        return first
    if first.kind == LEAKY:
        if first.params[0] < 0:
            return first
        return second if slope == 0 else Activation(LEAKY, (first.params[0] * slope,))
    if first.kind == CLIP and first.params[0] <= first.params[1]:
        if first.params[0] >= 0:
            return first
        return None if slope else _clipped((first.params[0], first.params[1]), (0.0, inf))
    return None


def _clipped(first: tuple[float, float], second: tuple[float, float]) -> Activation:
    low, high = (min(max(limit, second[0]), second[1]) for limit in first)
    return Activation(RELU) if (low, high) == (0.0, inf) else Activation(CLIP, (low, high))


class FuseActivation(LayerPattern):
    """act(host(x)) = host'(x), the host with the activation."""

    exact = False
    differs_on = ("nan", "infinities")

    def __init__(self, host: type[Activated]) -> None:
        self.host = host
        self.name = f"fuse_{host.LAYER.type.lower()}_activation"

    def match(self, op: Layer) -> Match | None:
        host = producer(op, self.host)
        return None if host is None else (host, op)

    def check(self, host: Activated, op: Layer) -> str | None:
        if not is_private(host.results[0]):
            return f"the result of {host.layer_name} is read by others, too"
        if getattr(host, "int8_scale_term", 0) > LAST_FP32_SCALE_TERM:
            return f"{host.layer_name} makes an int8 result"
        if _together(host, op) is None:
            return f"{host.layer_name} has activation {host.activation_type} already"
        return None

    def rewrite(self, rewriter: PatternRewriter, host: Activated, op: Layer) -> None:
        together = _together(host, op)
        if together is None:
            raise CompilerBug(f"{self.name} is not legal", "optimize")
        params: Mapping[str, int | tuple[float, ...]] = {
            "activation_type": together.kind,
            "activation_params": together.params,
        }
        absorb(rewriter, host, op, params)
        if not together.params:
            del host.properties["activation_params"]


def _together(host: Activated, op: Layer) -> Activation | None:
    second = activation_of(op)
    first = Activation(host.activation_type, host.activation_params)
    return None if second is None else compose(first, second)


@optimization(ReLUOp, ClipOp)
class FuseActivations(LayerPattern):
    """act2(act1(x)) = act(x) where both are layers: ReLU, leaky or not, and Clip."""

    name = "fuse_activation_activation"
    exact = False

    def match(self, op: Layer) -> Match | None:
        first = producer(op, ReLUOp) or producer(op, ClipOp) or producer(op, SigmoidOp)
        return None if first is None else (first, op)

    def check(self, first: Layer, op: Layer) -> str | None:
        if not is_private(first.results[0]):
            return f"the result of {first.layer_name} is read by others, too"
        return None if self._made(first, op) else "the two activations do not compose to one"

    def rewrite(self, rewriter: PatternRewriter, first: Layer, op: Layer) -> None:
        made = self._made(first, op)
        if made is None:
            raise CompilerBug(f"{self.name} is not legal", "optimize")
        kind, params = made
        rewriter.replace(op, [in_place_of(op, kind, first.operands, params, named=first)])
        rewriter.erase(first)

    @staticmethod
    def _made(first: Layer, op: Layer) -> tuple[type[Layer], dict[str, float]] | None:
        """The layer that does both, and its params."""
        acts = activation_of(first), activation_of(op)
        together = compose(acts[0], acts[1]) if acts[0] and acts[1] else None
        if together is None:
            return None
        if together.kind in (RELU, LEAKY):
            return ReLUOp, {"slope": sum(together.params)}
        if together.kind == CLIP:
            return ClipOp, {"min": together.params[0], "max": together.params[1]}
        return type(first), {}


for _host in LAYERS.values():
    if issubclass(_host, Activated):
        register(FuseActivation(_host), *ACTIVATIONS)
