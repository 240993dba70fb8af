"""Branches of one value that only a sum brings together: one convolution computes them all.

    (W x + b) + (V x + c) = (W + V) x + (b + c)                     fuse_convolution_branches
    (W x + b) + (s x + t) = (W + diag s) x + (b + t)

V stands among the taps of W that see the same elements. Networks that are trained with such
branches, as RepVGG and MobileOne, are often exported with them.

Needs: the shapes of both terms, which the sum may not broadcast.  Breaks: the rounding of sums, and
what terms make that overflow, or are infinities of both signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.optimizations.affine import ADD, Affine, Double, affine_of, double
from ncc.compiler.ncnn.optimizations.affine_hosts import NO_ACTIVATION, refuse_special
from ncc.compiler.ncnn.optimizations.optimization import optimization
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, absorb, is_private
from ncc.dialects.ncnn.convolution.convolution import ConvolutionLayer
from ncc.dialects.ncnn.convolution.filtering import Grouped
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import BatchNormOp, ScaleOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, WeightAttr, shape_of
from ncc.dialects.ncnn.window import Window


@optimization(BinaryOpOp)
class FuseConvolutionBranches(LayerPattern):
    """(W x + b) + (V x + c) = (W + V) x + (b + c), where V may be s and t of each channel."""

    name = "fuse_convolution_branches"
    exact = False
    differs_on = ("large", "infinities")

    def match(self, op: Layer) -> Match | None:
        if not isinstance(op, BinaryOpOp) or op.op_type != ADD or len(op.operands) != 2:
            return None
        first, second = (operand.owner for operand in op.operands)
        if not isinstance(first, Layer) or not isinstance(second, Layer) or first is second:
            return None
        if any(len(term.operands) != 1 for term in (first, second)):
            return None
        if first.operands[0] is not second.operands[0] or _roles(first, second) is None:
            return None
        return (first, second, op) if first.is_before_in_block(second) else (second, first, op)

    def check(self, first: Layer, second: Layer, op: BinaryOpOp) -> str | None:
        for term in (first, second):
            if not is_private(term.results[0]):
                return f"the result of {term.layer_name} is read by others, too"
        shapes = [shape_of(term.results[0]) for term in (first, second)]
        if None in shapes or shapes[0] != shapes[1]:
            return "the terms are not known to be of one shape"
        made = _sum(first, second)
        return made if isinstance(made, str) else None

    def rewrite(
        self, rewriter: PatternRewriter, first: Layer, second: Layer, op: BinaryOpOp
    ) -> None:
        made, roles = _sum(first, second), _roles(first, second)
        if isinstance(made, str) or roles is None:
            raise CompilerBug(f"{self.name} is not legal: {made}", "optimize")
        host, branch = roles
        params: dict[str, ParamValue] = {"bias_term": 1}
        weights = {name: WeightAttr.of(array) for name, array in made.items()}
        absorb(rewriter, host, op, params, weights)
        rewriter.erase(branch)


def _roles(first: Layer, second: Layer) -> tuple[ConvolutionLayer, Layer] | None:
    """The convolution with as many taps at least, and what it takes up."""
    if isinstance(first, ConvolutionLayer) and isinstance(second, ConvolutionLayer):
        if type(first) is not type(second):
            return None
        return (first, second) if _taps(first) >= _taps(second) else (second, first)
    for host, branch in ((first, second), (second, first)):
        if isinstance(host, ConvolutionLayer) and isinstance(branch, BatchNormOp | ScaleOp):
            return host, branch
    return None


def _taps(op: ConvolutionLayer) -> int:
    return prod(window.kernel for window in op.windows)


class _Term(NamedTuple):
    """What a branch adds to a convolution: weights of windows that begin so far outside, a bias."""

    windows: Sequence[Window]
    lows: Sequence[int]
    weights: Double
    bias: Double


def _sum(first: Layer, second: Layer) -> dict[str, Double] | str:
    """The weights and the bias of both terms in one, or why there are none."""
    roles = _roles(first, second)
    if roles is None:
        return "neither is a convolution that takes the other one up"
    host, branch = roles
    reason = _refusal(host)
    if reason is not None or host.weight is None:
        return reason or "its weights are inputs"
    term = _term(host, branch)
    if isinstance(term, str):
        return term
    places = [
        _place(window, low, inner, inner_low)
        for window, (low, _), inner, inner_low in zip(
            host.windows, host.pads, term.windows, term.lows, strict=True
        )
    ]
    taps = [place for place in places if place is not None]
    if len(taps) < len(places):
        return "its window does not see what the other one sees"
    total = double(host.weight)
    total[(*[slice(None)] * (total.ndim - len(taps)), *taps)] += term.weights
    bias = _bias(host) + term.bias
    with np.errstate(over="ignore"):
        if not all(np.isfinite(array.astype(np.float32)).all() for array in (total, bias)):
            return "the weights would overflow"
    return {"weight": total, "bias": bias}


def _term(host: ConvolutionLayer, branch: Layer) -> _Term | str:
    """The weights and bias that a branch adds to the other convolution, or the reason why not."""
    if isinstance(branch, ConvolutionLayer):
        reason = _refusal(branch)
        if reason is not None or branch.weight is None:
            return reason or "its weights are inputs"
        if (branch.groups, branch.channels.inputs) != (host.groups, host.channels.inputs):
            return "the branches are of different groups"
        lows = [low for low, _ in branch.pads]
        return _Term(branch.windows, lows, double(branch.weight), _bias(branch))
    affine = affine_of(branch, branch.results[0], host.num_output)
    affine = affine if isinstance(affine, str) else affine.along(0, host.num_output)
    if isinstance(affine, str) or affine.refusal is not None:
        return affine if isinstance(affine, str) else str(affine.refusal)
    axes = len(host.windows)
    return _Term([Window(1)] * axes, [0] * axes, _diagonal(host, affine), affine.offset)


def _refusal(op: ConvolutionLayer) -> str | None:
    """Why the weights of a convolution cannot be summed with others."""
    if op.activation_type != NO_ACTIVATION:
        return f"activation {op.activation_type} stands between"
    if op.pad_value != 0 or min(low for pad in op.pads for low in pad) < 0:
        return "its border is not of zeros, or follows from the shape"
    if not op.is_dynamic and not op.reads_all(shape_of(op.operands[0])):
        return "it may have more weights than it reads"
    return refuse_special(op, op.weight)


def _bias(op: ConvolutionLayer) -> Double:
    return np.zeros(op.num_output) if op.bias is None else double(op.bias)


def _diagonal(op: ConvolutionLayer, affine: Affine) -> Double:
    """The factors as weights of one tap: (group, outputs, inputs, 1, ..), if there are groups."""
    outputs, groups = op.channels.outputs, op.groups
    square = np.eye(outputs) * affine.factor.reshape(groups, outputs, 1)
    shape = (*([groups] if isinstance(op, Grouped) else []), outputs, outputs)
    return square.reshape(*shape, *[1] * len(op.windows))


def _place(window: Window, low: int, inner: Window, inner_low: int) -> slice | None:
    """The taps of a window that see what those of another one see, along one axis."""
    first, rest = divmod(low - inner_low, window.dilation)
    apart = inner.kernel == 1 or inner.dilation == window.dilation
    strides = window.stride == inner.stride
    if rest or not apart or not strides or not 0 <= first <= window.kernel - inner.kernel:
        return None
    return slice(first, first + inner.kernel)
