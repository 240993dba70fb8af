"""The interface of rewrite patterns of layers: match, check, rewrite.

    @canonical(DropoutOp)
    class EliminateDropout(LayerPattern):
        \"\"\"Dropout(x, scale = 1) = x.\"\"\"

        name = "eliminate_dropout"

        def match(self, op): ...                    # the layers that take part, or None
        def check(self, dropout): ...               # None, or the reason why it must not fire
        def rewrite(self, rewriter, dropout): ...   # the right side of the equation

The names are those of the passes of ncnnoptimize. Users read a reason in a report.

These patterns hold for every model, so they stand in `dialects/`. They have a folder of their own
because most of them are about two layers: "Flatten after global Pooling" belongs to neither family.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import Rewriter

from ncc.dialects.ncnn.canonicalize.twins import Twins
from ncc.dialects.ncnn.layer import PATTERNS, Layer, ParamValue, WeightAttr, shape_of
from ncc.dialects.ncnn.param import to_attribute
from ncc.dialects.shapes import shown

Match = tuple[Layer, ...]
"""The layers that take part, in the order they run; the last one is the one looked at."""


class LayerPattern(RewritePattern):
    """One equation between layers."""

    name: str
    exact: ClassVar[bool] = True
    """Whether both sides are equal bit by bit, not only in exact arithmetic."""

    bound: ClassVar[float] = 1e-4
    """How far the sides may be apart where they are not `exact`: a part of the largest value."""

    differs_on: ClassVar[tuple[str, ...]] = ()
    """Values on which the sides may differ, as the docstring tells: of zeros, denormals, large,
    infinities and nan. `compiler/ncnn/check_rewrites.py` tries each pattern on all others.
    """

    @abstractmethod
    def match(self, op: Layer) -> Match | None:
        """The layers that the left side of the equation names, where `op` is the last of them."""

    def match_in_order(self, op: Layer, twins: Twins) -> Match | None:
        """The same for a driver that looks at one layer after the other.

        twins: of the layers that it has looked at.
        """
        return self.match(op)

    @abstractmethod
    def check(self, *layers: Any) -> str | None:
        """None where the equation holds for these layers, else why it does not."""

    @abstractmethod
    def rewrite(self, rewriter: PatternRewriter, *layers: Any) -> None:
        """Replace the left side by the right side."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        """The method that xDSL's drivers call."""
        layers = self.match(op) if isinstance(op, Layer) else None
        if layers is not None and self.check(*layers) is None:
            self.rewrite(rewriter, *layers)


P = TypeVar("P", bound=type[LayerPattern])


def canonical(*roots: type[Layer]) -> Callable[[P], P]:
    """Make a pattern one of those that layers of these types canonicalize by."""

    def register(pattern: P) -> P:
        for root in roots:
            PATTERNS.setdefault(root.LAYER.type, []).append(pattern())
        return pattern

    return register


def producer(op: Layer, kind: type[Layer]) -> Layer | None:
    """The layer that makes the only operand of `op`, if it is of this kind."""
    if len(op.operands) != 1:
        return None
    owner = op.operands[0].owner
    return owner if isinstance(owner, kind) else None


def is_private(value: SSAValue) -> bool:
    """Whether one layer alone reads a value, once, and it is no output of the network."""
    uses = list(value.uses)
    return len(uses) == 1 and isinstance(uses[0].operation, Layer)


def absorb(
    rewriter: PatternRewriter,
    host: Layer,
    op: Layer,
    params: Mapping[str, ParamValue],
    weights: Mapping[str, WeightAttr] | None = None,
) -> None:
    """Let `host` do what `op` did to its result, by new params and weights.

    The host keeps its own name; the blob has that of the result of `op`. Floats are rounded to
    float32, as files hold them.
    """
    set_params(host, params)
    host.properties.update(weights or {})
    host.attributes["blobs"] = ArrayAttr([StringAttr(name) for name in op.blob_names])
    for old, new in zip(op.results, host.results, strict=True):
        new.name_hint = old.name_hint
    rewriter.replace(op, [], list(host.results))
    rewriter.handle_operation_modification(host)


def set_params(op: Layer, params: Mapping[str, ParamValue]) -> None:
    """Change params of a layer. Floats are rounded to float32, as files hold them."""
    for name, value in params.items():
        op.properties[name] = to_attribute(op.LAYER.params[name].kind, _rounded(value))


def in_place_of(
    op: Layer,
    kind: type[Layer],
    operands: Sequence[SSAValue],
    params: Mapping[str, ParamValue],
    weights: Mapping[str, WeightAttr] | None = None,
    *,
    named: Layer | None = None,
) -> Layer:
    """A layer with results like those of `op`, not inserted yet; its name is that of `named`."""
    named = named or op
    rounded = {name: _rounded(value) for name, value in params.items()}
    blobs, name, line = op.blob_names, named.layer_name, named.line
    new = kind.make(operands, rounded, weights, name=name, blobs=blobs, line=line)
    for old, result in zip(op.results, new.results, strict=True):
        Rewriter.replace_value_with_new_type(result, old.type)
        result.name_hint = old.name_hint
    return new


def _rounded(value: ParamValue) -> ParamValue:
    if isinstance(value, float):
        return float(np.float32(value))
    if isinstance(value, tuple):
        rounded = tuple(float(np.float32(v)) if isinstance(v, float) else v for v in value)
        return cast(ParamValue, rounded)
    return value


def refuse_retyping(op: Layer) -> str | None:
    """Why the results of a layer cannot be taken for its operands, where shapes tell."""
    for operand, result in zip(op.operands, op.results, strict=False):
        if operand.type != result.type:
            given, made = shape_of(operand), shape_of(result)
            if given is None or made is None:
                return "shapes are known for a part of the network only"
            return f"it makes {shown(made)} of {shown(given)}"
    return None


def forward(rewriter: PatternRewriter, op: Layer) -> None:
    """Let every reader of result k read operand k instead, and drop the layer."""
    rewriter.replace(op, [], list(op.operands[: len(op.results)]))
