"""The registry of optimizations: rewrites that pay, and that a user can switch off.

@optimization(BinaryOpOp)
class FuseConstant(LayerPattern): ...

register(FoldAffine(ConvolutionOp, "batchnorm"), BatchNormOp)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern
from ncc.dialects.ncnn.layer import Layer

OPTIMIZATIONS: list[tuple[type[Layer], LayerPattern]] = []
"""The patterns and the class of layers that they may end in, in the order they are tried."""

P = TypeVar("P", bound=type[LayerPattern])


def optimization(*roots: type[Layer]) -> Callable[[P], P]:
    """Make a pattern one that is tried on layers of these classes, and of those derived."""

    def decorate(pattern: P) -> P:
        register(pattern(), *roots)
        return pattern

    return decorate


def register(pattern: LayerPattern, *roots: type[Layer]) -> None:
    """Make an instance of a pattern one that is tried on layers of these classes."""
    OPTIMIZATIONS.extend((root, pattern) for root in roots)
