"""The registry of optimizations: rewrites that pay, and that a user can switch off.

@optimization(BinaryOpOp)
class FuseConstant(LayerPattern): ...

register(FoldAffine(ConvolutionOp, "batchnorm"), BatchNormOp)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, in_place_of
from ncc.dialects.ncnn.layer import Layer, ParamValue

OPTIMIZATIONS: list[tuple[type[Layer], LayerPattern]] = []
"""The patterns and the class of layers that they may end in, in the order they are tried."""

P = TypeVar("P", bound=type[LayerPattern])


class WrittenOut(LayerPattern):
    """Layers that no others read, as the one layer that computes the same."""

    exact = False

    def check(self, *layers: Layer) -> str | None:
        for layer in layers[:-1]:
            for use in layer.results[0].uses:
                if use.operation not in layers:
                    return f"{layer.layer_name} is read by others, too"
        return None

    def rewrite(self, rewriter: PatternRewriter, *layers: Layer) -> None:
        *inner, op = layers
        rewriter.replace(op, [in_place_of(op, *self.made(op))])
        for layer in reversed(inner):
            rewriter.erase(layer)

    def made(self, op: Layer) -> tuple[type[Layer], Sequence[SSAValue], Mapping[str, ParamValue]]:
        """The one layer, its operands and its params."""
        raise NotImplementedError(self.name)


def optimization(*roots: type[Layer]) -> Callable[[P], P]:
    """Make a pattern one that is tried on layers of these classes, and of those derived."""

    def decorate(pattern: P) -> P:
        register(pattern(), *roots)
        return pattern

    return decorate


def register(pattern: LayerPattern, *roots: type[Layer]) -> None:
    """Make an instance of a pattern one that is tried on layers of these classes."""
    OPTIMIZATIONS.extend((root, pattern) for root in roots)
