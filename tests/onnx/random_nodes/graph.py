"""A random ONNX graph of a seed.

    graph = random_graph(seed, count=5)
    graph.data                              # the file
    graph.cases[0].inputs, .outputs         # arrays by name, at the first of some sizes

If `count` is 1, all extents are numbers. If it is more, some are open.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ncc.runtime.results import Array
from tests.onnx.random_nodes import images, movement, pointwise, reductions
from tests.onnx.random_nodes.growth import Growth, Rejected

GROWING: list[Callable[[Growth], None]] = [
    *pointwise.GROWING,
    *images.GROWING,
    *movement.GROWING,
    *reductions.GROWING,
]

MOST_ATTEMPTS = 300


@dataclass(frozen=True)
class Case:
    """Inputs and outputs by name."""

    inputs: Mapping[str, Array]
    outputs: Mapping[str, Array]


@dataclass(frozen=True)
class RandomGraph:
    """The file of a seed, with cases. is_quantized: some values were rounded to bytes."""

    seed: int
    data: bytes
    cases: tuple[Case, ...]
    is_quantized: bool

    @property
    def text(self) -> str:
        import onnx

        return str(onnx.printer.to_text(onnx.load_from_string(self.data)))[:4000]


def random_graph(seed: int, count: int = 1, most_nodes: int = 10) -> RandomGraph:
    """The graph of a seed, at so many sizes."""
    rng = np.random.default_rng(seed)
    sizes = [{name: _extent(rng, name) for name in "nchw"} for _ in range(count)]
    g = Growth(rng, int(rng.integers(11, 22)), sizes)
    for _ in range(g.number(1, 2)):
        g.input(*_input(g, count > 1))
    wanted = g.number(2, most_nodes)
    for _ in range(MOST_ATTEMPTS):
        if g.node_count >= wanted:
            break
        _try(g, g.pick(GROWING))
    names = g.unread() or list(g.values)[-1:]
    cases = tuple(
        Case(
            {name: value.arrays[size] for name, (value, _) in g.inputs.items()},
            {name: g.values[name].arrays[size] for name in names},
        )
        for size in range(count)
    )
    return RandomGraph(seed, g.model(names), cases, g.is_quantized)


def _try(g: Growth, grow: Callable[[Growth], None]) -> None:
    """One way to grow; if it does not fit, the graph is as before."""
    nodes, values, held = list(g.nodes), dict(g.values), dict(g.held)
    quantized = g.is_quantized
    try:
        grow(g)
    except Rejected:
        g.nodes, g.values, g.held, g.is_quantized = nodes, values, held, quantized


def _extent(rng: np.random.Generator, name: str) -> int:
    if name == "n":
        return int(rng.integers(1, 4))
    return int(rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17, 20]))


def _input(g: Growth, is_open: bool) -> tuple[list[int | str], object]:
    """The shape and the type of an input: mostly an image."""
    rank = g.pick([1, 2, 2, 3, 3, 4, 4, 4, 4, 4, 5])
    names = {1: "w", 2: "hw", 3: "chw", 4: "nchw", 5: "nchhw"}[rank]
    channels = g.pick([1, 2, 3, 4, 6, 8, 16])
    shape: list[int | str] = []
    for name in names:
        fixed = g.pick([1, 1, 2]) if name == "n" else channels if name == "c" else g.number(1, 12)
        opens = is_open and name in "hw" and rank < 5 and g.chance(0.75)
        opens = opens or (is_open and name == "n" and g.chance(0.2))
        shape.append(name if opens else fixed)
    if is_open and not any(isinstance(n, str) for n in shape):
        shape[-1] = "w"
    types = [np.float32] * 8 + [np.int64, np.int32, np.uint8, np.bool_]
    return shape, g.pick(types)
