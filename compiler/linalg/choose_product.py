"""Which pointwise convolutions use Strassen's product: those where it pays by a count of cycles.

    %c = conv1x1(%x) outs(bias)               %v, %m, %t = generics of `strassen`
    %y = pointwise(%c, %r)            ->      %e = pointwise(%t + bias, expand %r)
                                              %y = collapse %e

Where a depthwise convolution makes %x for nobody else, it makes blocks, of which its kernel stores
sums. The pairs of rows are cut into chunks with generics of their own, so that %v fits a cache.

Needs: the structured level before layouts and groups.
Breaks: the order and rounding of floating-point sums.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.blocks import Blocks
from ncc.compiler.linalg.convolution import start
from ncc.compiler.linalg.convolve import padded
from ncc.compiler.linalg.fuse import network_of
from ncc.compiler.linalg.in_blocks import in_blocks, sources, windows_behind
from ncc.compiler.linalg.insert import move_before, tensor_of
from ncc.compiler.linalg.on_tiles import Followers, erase_replaced
from ncc.compiler.linalg.packing import BLOCK, is_constant, weights_of
from ncc.compiler.linalg.strassen import of_blocks, of_image, of_weights, product
from ncc.compiler.linalg.strips import ROWS
from ncc.compiler.linalg.view import View, shape_of
from ncc.compiler.target import AVX512, Target
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of

NARROWEST = 4
"""Points of a row."""

AXES = [[0, 1], [2, 3], [4]]
"""The axes of the product's result that make an axis of the image each."""


@dataclass(frozen=True)
class ChooseProduct(ModulePass):
    """Rewrite the pointwise convolutions of the network that pay; see the head of this file.

    threads: how many share a chunk, which may be the larger for it.
    """

    name = "choose-product"

    target: Target = AVX512
    threads: int = 1

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(network_of(op).body.block.ops):
            if isinstance(inner, GenericOp):
                found = match(inner, self.target)
                if isinstance(found, Pointwise):
                    _rewrite(found, self.threads)


@dataclass(frozen=True)
class Pointwise:
    """y[o, p, q] = init[o] + the sum of x[i, p*down, q*across] * w[o, i] over i."""

    op: GenericOp
    x: SSAValue
    weights: SSAValue
    init: SSAValue | float
    stride: tuple[int, int]
    blocks: Blocks


def match(op: GenericOp, target: Target) -> Pointwise | str:
    """The convolution that op is, or why it stays as it is."""
    view = View(op)
    pair = view.product()
    if pair is None or (len(view.write.index), len(view.reduced)) != (3, 1):
        return "it is no pointwise convolution"
    x, w = (view.reads[i] for i in pair)
    if {element_of(x.value), element_of(w.value)} != {f32}:
        return "it is not of float32"
    o, p, q = (form.bare for form in view.write.index)
    (i,) = view.reduced
    if not is_constant(w.value) or [form.bare for form in w.index] != [o, i]:
        return "its weights are computed"
    if len(x.index) != 3 or x.index[0].bare != i or p is None or q is None:
        return "it is no pointwise convolution"
    down, across = x.index[1].coefficient(p), x.index[2].coefficient(q)
    if x.index[1].terms != ((p, down),) or x.index[2].terms != ((q, across),):
        return "it is no pointwise convolution"
    if x.index[1].constant or x.index[2].constant:
        return "it begins inside"
    if _is_scaled(x.value):
        return "its weights are scaled with less"
    outputs, inputs = shape_of(w.value)
    if outputs % (2 * BLOCK) or inputs % (2 * BLOCK):
        return "halves of its channels are no whole blocks"
    init = start(op)
    if init is None:
        return "it goes on from other values than a bias"
    height, width = shape_of(op.results[0])[1:]
    blocks = Blocks(outputs, inputs, height, width, target)
    if width < NARROWEST or not blocks.pays:
        return "it does not pay"
    return Pointwise(op, x.value, w.value, init, (down, across), blocks)


def _is_scaled(value: SSAValue) -> bool:
    """Whether a value is made with numbers of the run that are the same all over the image."""
    if not isinstance(value.owner, GenericOp):
        return False
    view = View(value.owner)
    if not view.is_pointwise:
        return False
    image = [form.bare for form in view.write.index[1:]]
    return any(
        not is_constant(access.value) and not any(d is not None and access.uses(d) for d in image)
        for access in view.reads
    )


def _rewrite(found: Pointwise, threads: int) -> None:
    block = Block()
    doc = found.op.doc
    b = Builder(block, doc.data if doc is not None else "")
    height, width = shape_of(found.op.results[0])[1:]
    covered = 2 * found.blocks.pairs
    followers = Followers(found.op, (covered, width), AXES)
    image, u = _Image(found, covered), of_weights(b, weights_of(found.weights))
    pairs = found.blocks.chunk(threads)
    chunks = []
    for first in range(0, covered, 2 * pairs):
        rows = min(2 * pairs, covered - first)
        v = image.rows(b, first, rows // 2)
        y = product(b, v, u, min(rows, height - first))
        y = followers.on_tiles(b, _started(b, y, found.init), first)
        chunks.append(b.collapse(y, AXES))
    last = followers.last
    result = b.concat(chunks, axis=ROWS)
    result = b.slice(result, [0, 0, 0], [result.shape[0], height, width])
    move_before(block, last)
    result.value.name_hint = last.results[0].name_hint
    last.results[0].replace_all_uses_with(result.value)
    erase_replaced([*reversed(followers.ops), found.op, *image.windows])


class _Image:
    """What a pointwise convolution reads, with room for rows in pairs."""

    def __init__(self, found: Pointwise, covered: int) -> None:
        self.stride = found.stride
        self.windows = windows_behind(found.x) if found.stride == (1, 1) else []
        if self.windows:
            self.sources = sources(self.windows, covered)
        else:
            self.x = tensor_of(padded(found.x, found.stride[0] * (covered - 1) + 1, 0))

    def rows(self, b: Builder, first: int, pairs: int) -> Tensor:
        """V of so many pairs of rows."""
        if self.windows:
            return of_blocks(b, in_blocks(b, self.windows, self.sources, first, pairs))
        down = self.stride[0]
        channels, height, width = self.x.shape
        size = min(2 * pairs * down, height - first * down)
        x = b.slice(self.x, [0, first * down, 0], [channels, size, width])
        return of_image(b, x, pairs, self.stride)


def _started(b: Builder, y: Tensor, init: SSAValue | float) -> Tensor:
    """The products on top of what the sums start from."""
    if init == 0.0:
        return y
    at = b.loops_of(y.shape)
    if not isinstance(init, SSAValue):
        return b.map(at, y[at] + init)
    bias = b.expand(tensor_of(init), [[0, 1]], y.shape[:2])
    return b.map(at, y[at] + bias[at[:2]])
