"""Packed networks compute what plain ones compute, whatever the number of channels."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.layout.gather_channels import gather
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, maximum
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu
from tests.crossed import some
from tests.executed_lines import lines_of
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]

CHANNELS = (3, 15, 16, 17, 24, 32, 40)


# --- random networks ------------------------------------------------------------------------


class Layers:
    """Layers that blocks have to get through, with weights made up on the way."""

    def __init__(self, b: Builder, draw: random.Random) -> None:
        self.b, self.draw = b, draw

    def weight(self, *shape: int) -> Tensor:
        generator = np.random.default_rng(self.draw.randrange(1 << 30))
        scale = 1 / np.sqrt(np.prod(shape[1:]))
        values = generator.standard_normal(shape) * scale
        return self.b.weight(WeightAttr.of(values.astype(np.float32)))

    def convolution(self, x: Tensor) -> Tensor:
        outputs, kernel = self.draw.choice(CHANNELS), self.draw.choice([1, 3])
        x = self.b.pad(x, (0, kernel // 2, kernel // 2), (0, kernel // 2, kernel // 2))
        w, height, width = self.weight(outputs, x.shape[0], kernel, kernel), x.shape[1], x.shape[2]
        shape = (outputs, height - kernel + 1, width - kernel + 1)
        init = self.b.spread(self.weight(outputs), shape, 0) if self.draw.random() < 0.5 else 0.0
        o, y, z, i, k, m = self.b.loops(f"o y:{shape[1]} z:{shape[2]} i k m")
        term = x[i, y + k, z + m] * w[o, i, k, m]
        return self.b.sum((o, y, z), over=(i, k, m), of=term, init=init)

    def groups(self, x: Tensor) -> Tensor:
        count = self.draw.choice([g for g in range(1, x.shape[0] + 1) if x.shape[0] % g == 0])
        inner = x.shape[0] // count
        w = self.weight(count, self.draw.choice([1, 2, 16]), inner)
        g, o, y, z, i = self.b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
        total = self.b.sum((g, o, y, z), over=(i,), of=x[g * inner + i, y, z] * w[g, o, i])
        return self.b.collapse(total, [[0, 1], [2], [3]])

    def depthwise(self, x: Tensor) -> Tensor:
        w, x = self.weight(x.shape[0], 3, 3), self.b.pad(x, (0, 1, 1), (0, 1, 1))
        c, y, z, k, m = self.b.loops(f"c y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m")
        return self.b.sum((c, y, z), over=(k, m), of=x[c, y + k, z + m] * w[c, k, m])

    def maximum(self, x: Tensor) -> Tensor:
        c, y, z, k = self.b.loops(f"c:{x.shape[0]} y:{x.shape[1]} z:{x.shape[2] - 1} k:2")
        return self.b.max((c, y, z), over=(k,), of=x[c, y, z + k])

    def pointwise(self, x: Tensor) -> Tensor:
        at = self.b.loops_of(x.shape)
        of = self.draw.choice([maximum(x[at], 0.0), exp(x[at] * -0.1), x[at] + 1.0])
        return self.b.map(at, of)

    def softmax(self, x: Tensor) -> Tensor:
        """Over channels: what lies past the end must not be counted."""
        c, y, z = self.b.loops_of(x.shape)
        most = self.b.max((y, z), over=(c,), of=x[c, y, z])
        c, y, z = self.b.loops_of(x.shape)
        powers = self.b.map((c, y, z), exp(x[c, y, z] - most[y, z]))
        c, y, z = self.b.loops_of(x.shape)
        total = self.b.sum((y, z), over=(c,), of=powers[c, y, z])
        c, y, z = self.b.loops_of(x.shape)
        return self.b.map((c, y, z), powers[c, y, z] / total[y, z])

    def gather(self, x: Tensor) -> Tensor:
        """Rows in the order of a table."""
        table = self.b.table(np.arange(x.shape[1])[::-1].copy())
        c, y, z = self.b.loops_of(x.shape)
        return self.b.map((c, y, z), x.at(self.b.index(c), table[y], self.b.index(z)))

    def gathered_mean(self, x: Tensor) -> Tensor:
        """Each row with the one behind it, both found in a table."""
        rows = np.arange(x.shape[1])
        table = self.b.table(np.stack([rows, np.minimum(rows + 1, x.shape[1] - 1)], 1))
        share = self.b.table(np.full((x.shape[1], 2), 0.5, np.float32))
        c, y, z, k = self.b.loops(f"c:{x.shape[0]} y z:{x.shape[2]} k")
        element = x.at(self.b.index(c), table[y, k], self.b.index(z))
        return self.b.sum((c, y, z), over=(k,), of=element * share[y, k])

    def goes_on(self, x: Tensor) -> Tensor:
        """A sum that starts from another sum of the same shape."""
        w = self.weight(x.shape[0], x.shape[0])
        o, y, z, i = self.b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i")
        return self.b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i], init=self.depthwise(x))

    def slice(self, x: Tensor) -> Tensor:
        begin = self.draw.choice([k for k in (0, 1, 16) if k < x.shape[0]])
        return self.b.slice(x, (begin, 0, 0), (x.shape[0] - begin, *x.shape[1:]))

    def more_channels(self, x: Tensor) -> Tensor:
        """With a border on the other axes, or none."""
        more, border = self.draw.choice([1, 4, 8, 16, 20]), self.draw.choice([0, 0, 1])
        value = self.draw.choice([0.0, -2.5])
        return self.b.pad(x, (0, border, 0), (more, border, border), value)

    def transposed(self, x: Tensor) -> Tensor:
        y, c, z = self.b.loops_of((x.shape[1], x.shape[0], x.shape[2]))
        return self.b.map((y, c, z), x[c, y, z])


def random_network(seed: int) -> Callable[[Builder, Tensor], list[Tensor]]:
    draw = random.Random(seed)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        layers, values = Layers(b, draw), [x]
        kinds = [
            layers.convolution, layers.convolution, layers.convolution, layers.groups,
            layers.depthwise, layers.maximum, layers.pointwise, layers.softmax, layers.gather,
            layers.slice, layers.transposed, layers.gathered_mean, layers.goes_on,
            layers.more_channels,
        ]  # fmt: skip
        for _ in range(draw.randint(1, 6)):
            x = draw.choice(values[-2:])
            if draw.random() < 0.2:
                others = [v for v in values if v.shape[1:] == x.shape[1:]]
                values.append(b.concat([x, draw.choice(others)], 0))
            elif x.shape[2] > 1:
                values.append(draw.choice(kinds)(x))
        return [values[-1]]

    return write


@pytest.mark.parametrize("first", some(range(0, 80, 20), usual=2))
def test_random_networks(make_network: MakeNetwork, first: int) -> None:
    """Equal but for the order of sums, on networks of layers that lane, split and gather."""
    for seed in range(first, first + 20):
        shape = (random.Random(seed).choice(CHANNELS), 5, 6)
        module = make_network([shape], random_network(seed))
        x = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
        before = evaluate(network_of(module), [x], dtype=np.float64)
        PackChannels().apply(Context(), module)
        module.verify()
        after = evaluate(network_of(module), [x], dtype=np.float64)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-9, atol=1e-9, err_msg=f"seed {seed}")


@pytest.mark.parametrize("channels, is_packed", [(32, True), (24, False)])
def test_what_is_turned_is_packed_on_its_way(
    make_network: MakeNetwork, channels: int, is_packed: bool
) -> None:
    """A block of the result are neighbours in what a transposition reads, unless one ends amid."""

    def write(b: Builder, x: Tensor) -> Tensor:
        c, p, q = b.loops(f"c:{channels} p:24 q:24")
        y = b.map((c, p, q), x[p, q, c])
        w = b.weight(WeightAttr.of(np.ones((32, channels), np.float32)))
        o, p, q, i = b.loops("o:32 p:24 q:24 i")
        return b.sum((o, p, q), over=(i,), of=y[i, p, q] * w[o, i])

    x = np.random.default_rng(0).standard_normal((24, 24, channels)).astype(np.float32)
    module = make_network([x.shape], write)
    (expected,) = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    block = network_of(module).body.block
    transposed = next(op for op in block.ops if isinstance(op, GenericOp))
    assert (shape_of(transposed.results[0]) == (2, 24, 24, BLOCK)) is is_packed
    (found,) = evaluate(network_of(module), [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_sums_over_odd_channels_know_their_end(make_network: MakeNetwork) -> None:
    """Whatever lies in the lanes past the end, a sum over channels stops before it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        layers = Layers(b, random.Random(1))
        y = layers.pointwise(_wide(layers, x, 24))
        return _wide(layers, y, 32)

    module = make_network([(32, 8, 8)], write)
    PackChannels().apply(Context(), module)
    views = [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    valid_extents = [linalg_op.valid_extents for linalg_op in views if linalg_op.valid_extents]
    assert len(valid_extents) == 1 and valid_extents[0][0][2] == 24


def _wide(layers: Layers, x: Tensor, outputs: int) -> Tensor:
    w = layers.weight(outputs, x.shape[0], 3, 3)
    o, y, z, i, k, m = layers.b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    return layers.b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def test_axes_of_a_long_chain_are_found_once(make_network: MakeNetwork) -> None:
    """The axis of each value follows from that of the one before, however many there are."""

    def write(length: int, b: Builder, x: Tensor) -> Tensor:
        w = Layers(b, random.Random(3)).weight(32, 32)
        o, z, p, q, i = b.loops("o z p q i")
        y = b.sum((o, z, p, q), over=(i,), of=x[i, z, p, q] * w[o, i])
        for _ in range(length):
            y = relu(b, y)
        return y

    lines: list[int] = []
    for length in (50, 100):
        module = make_network([(32, 2, 3, 3)], partial(write, length))
        lines.append(lines_of(partial(PackChannels().apply, Context(), module)))
        block = network_of(module).body.block
        relus = [op for op in block.ops if isinstance(op, GenericOp) and LinalgOp(op).is_pointwise]
        assert all(shape_of(op.results[0])[-1] == BLOCK for op in relus[-length:-1])
    assert lines[1] < 2.2 * lines[0]


def test_arguments_and_results_keep_their_shape(make_network: MakeNetwork) -> None:
    """What a caller sees has no blocks."""
    module = make_network([(32, 8, 8)], lambda b, x: _wide(Layers(b, random.Random(0)), x, 32))
    PackChannels().apply(Context(), module)
    block = network_of(module).body.block
    assert shape_of(block.args[0]) == (32, 8, 8)
    returned = block.last_op
    assert returned is not None and shape_of(returned.operands[0]) == (32, 6, 6)


@pytest.mark.parametrize("inputs", [16, 17, 32])
@pytest.mark.parametrize("outputs", [3, 16, 20])
def test_weights_that_are_data(make_network: MakeNetwork, inputs: int, outputs: int) -> None:
    """Filters may be computed, too: packed along the outputs, and along nothing else.

    Where blocks of input channels are not full, the sum runs over the channels as they are.
    """

    def write(b: Builder, x: Tensor, w: Tensor) -> list[Tensor]:
        o, y, z, i = b.loops("o y z i")
        w3 = b.pad(w, (0, 0, 0), (0, 0, 1))
        term = x[i, y, z] * w3[o, i, 0]
        first = b.sum((o, y, z), over=(i,), of=term)
        at = b.loops_of(first.shape)
        return [b.map(at, maximum(first[at], 0.0))]

    shapes = [(inputs, 5, 6), (outputs, inputs, 1)]
    generator = np.random.default_rng(1)
    arrays = [generator.standard_normal(shape).astype(np.float32) for shape in shapes]
    module = make_network(shapes, write)
    (expected,) = evaluate(network_of(module), arrays)
    PackChannels().apply(Context(), module)
    module.verify()
    (found,) = evaluate(network_of(module), arrays)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_a_result_at_strided_places_is_packed(make_network: MakeNetwork) -> None:
    """Phases of a transposed convolution, each going on from the one before, in blocks."""
    w = np.random.default_rng(0).standard_normal((20, 16, 2)).astype(np.float32)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        held = b.weight(WeightAttr.of(w))
        total = b.full((20, 5, 12), 0.0)
        for phase in range(2):
            o, y, z, i = b.loops("o y z i")
            term = x[i, y, z] * held[o, i, phase]
            total = b.sum((o, y, z * 2 + phase), over=(i,), of=term, init=total)
        return [total]

    x = np.random.default_rng(1).standard_normal((16, 5, 6)).astype(np.float32)
    module = make_network([(16, 5, 6)], write)
    (expected,) = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    module.verify()
    (found,) = evaluate(network_of(module), [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    sums = [op for op in module.walk() if isinstance(op, GenericOp) and LinalgOp(op).reduced]
    assert [shape_of(op.results[0]) for op in sums] == [(2, 5, 12, BLOCK)] * 2


def test_channels_of_a_stack_of_products_are_gathered_one_by_one(
    make_network: MakeNetwork,
) -> None:
    """Blocks of such products run along their columns, and hold no lanes of channels."""

    def write(b: Builder, x: Tensor) -> Tensor:
        layers = Layers(b, random.Random(2))
        w = layers.weight(11, 33, 15)
        g, y, z, k = b.loops("g y z k")
        stack = b.sum((g, y, z), over=(k,), of=x[g, y, k] * w[g, z, k])
        return layers.depthwise(gather(b, stack.value, [n // 3 for n in range(33)]))

    x = np.random.default_rng(3).standard_normal((11, 16, 15)).astype(np.float32)
    module = make_network([x.shape], write)
    (expected,) = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    module.verify()
    (found,) = evaluate(network_of(module), [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    products = [op for op in module.walk() if isinstance(op, GenericOp) and LinalgOp(op).product]
    assert shape_of(products[0].results[0]) == (11, 16, 3, BLOCK)


@pytest.mark.parametrize("channels", [16, 20])
@pytest.mark.parametrize("summed", [True, False])
def test_a_diagonal_of_weights_is_read_where_it_lies(
    make_network: MakeNetwork, channels: int, summed: bool
) -> None:
    """Weights are put in blocks along one axis of a loop, and a diagonal has two."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        layers = Layers(b, random.Random(0))
        y = layers.depthwise(x)
        w = layers.weight(channels, *((channels, 16) if summed else (16, 16)))
        o, i, p, q = b.loops(f"o:16 i:{channels} p q")
        factor = w[i, i, o] if summed else w[i, o, o]
        return [relu(b, b.sum((o,), over=(i, p, q), of=y[i, p, q] * factor))]

    x = np.random.default_rng(1).standard_normal((channels, 6, 6)).astype(np.float32)
    module = make_network([x.shape], write)
    (expected,) = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    module.verify()
    (found,) = evaluate(network_of(module), [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("columns", [16, 24])
def test_a_value_is_not_read_past_its_end_where_it_is_also_read_plain(
    make_network: MakeNetwork, columns: int
) -> None:
    """A matrix by itself: rows as they lie, columns in blocks, which may be rounded up."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = relu(b, x)
        m, n, k = b.loops("m n k")
        return [relu(b, b.sum((m, n), over=(k,), of=y[m, k] * y[k, n]))]

    x = np.random.default_rng(1).standard_normal((columns, columns)).astype(np.float32)
    module = make_network([x.shape], write)
    (expected,) = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    module.verify()
    (found,) = evaluate(network_of(module), [x])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
