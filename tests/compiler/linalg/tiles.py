"""Loops over tiles, written in index notation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import Block

from ncc.compiler.linalg.rewrite.insert import tensor_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.tiled import TiledLoopOp, Window, YieldOp


@dataclass(frozen=True)
class Seen:
    """What iterations see of a value: `size` elements along an axis, from step * i on."""

    value: Tensor
    step: int
    size: int
    axis: int = 1


def loop(
    b: Builder,
    count: int,
    seen: Sequence[Seen],
    write: Callable[..., Tensor | Sequence[Tensor]],
    axis: int = 1,
) -> list[Tensor]:
    """The results of so many iterations of what `write` writes of their windows, whose parts lie
    one behind the other along an axis.
    """
    inner, windows, arguments = Builder(Block(), b.doc), [], []
    for one in seen:
        window = Window(one.value.value, one.axis, one.step, one.size)
        argument = inner.block.insert_arg(window.type, len(inner.block.args))
        arguments.append(tensor_of(argument))
        windows.append(window)
    written = write(inner, *arguments)
    parts = [written] if isinstance(written, Tensor) else list(written)
    inner.block.add_op(YieldOp([part.value for part in parts]))
    op = TiledLoopOp(count, windows, [axis] * len(parts), inner.block)
    b.block.add_op(op)
    return [tensor_of(result) for result in op.results]
