"""Places the layers of a network in a picture. Graphviz does the placing.

A large network is easier to read if chains are folded: layers that follow each other, each the only
reader of the one before, are one box, which names the first and the last of them.

Lines that cross half of a large network tell nothing, and take Graphviz minutes. So a box says in
words that it reads a layer which is far away or has many readers, as masks of decoders have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from pygraphviz import AGraph

from ncc.compiler.report.facts import Layer

SHORTEST_CHAIN = 3
"""The number of layers from which on a chain is folded."""

MOST_READERS, FARTHEST = 8, 60
"""The most readers of a layer, and the most boxes on the way to a reader, that lines lead to."""

LONGEST, LONGEST_PER_BOX = 4000, 8
"""How many boxes all lines together pass, if the network has few boxes; and for each box. What
Graphviz does grows with that more than in proportion."""

MOST_CHARACTERS = 30
CHARACTER, LINE = 6.7, 14.0
"""The width of a character and the height of a line of a label, in points, as page.css has them."""

EFFORT = {"nslimit": 2, "nslimit1": 2, "mclimit": 0.2}
"""How long Graphviz looks for a better picture: the time is what large networks take."""

POINTS_PER_INCH = 72.0


@dataclass(frozen=True)
class Node:
    """A box, with the layers in it by their positions, and its lines of text. x, y: its centre."""

    layers: tuple[int, ...]
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Picture:
    """Boxes, and the paths between them as SVG has paths."""

    width: float
    height: float
    nodes: tuple[Node, ...]
    edges: tuple[str, ...]


def chains(layers: Sequence[Layer]) -> list[tuple[int, ...]]:
    """The layers in groups: chains, and layers that are in none."""
    readers: list[list[int]] = [[] for _ in layers]
    for number, layer in enumerate(layers):
        for read in layer.reads:
            readers[read].append(number)

    def follows(number: int) -> bool:
        """Whether a layer goes on with the chain of the one that it reads."""
        reads = layers[number].reads
        return len(reads) == 1 and len(readers[reads[0]]) == 1

    groups: list[tuple[int, ...]] = []
    for number in range(len(layers)):
        if follows(number):
            continue
        chain = [number]
        while len(readers[chain[-1]]) == 1 and follows(readers[chain[-1]][0]):
            chain.append(readers[chain[-1]][0])
        groups += [tuple(chain)] if len(chain) >= SHORTEST_CHAIN else [(one,) for one in chain]
    return groups


def one_by_one(layers: Sequence[Layer]) -> list[tuple[int, ...]]:
    """Every layer in a group of its own."""
    return [(number,) for number in range(len(layers))]


def placed(layers: Sequence[Layer], groups: Sequence[tuple[int, ...]]) -> Picture:
    """The picture of a network with one box for each group."""
    edges, told = _edges(layers, groups)
    labels = [
        (*_label(layers, group), *_reads(layers, told.get(number, [])))
        for number, group in enumerate(groups)
    ]
    sizes = [
        (CHARACTER * max(map(len, lines)) + 2 * LINE, (len(lines) + 0.8) * LINE) for lines in labels
    ]
    graph = AGraph(directed=True)
    graph.graph_attr.update(nodesep=0.2, ranksep=0.3, **EFFORT)
    graph.edge_attr.update(dir="none")
    graph.node_attr.update(shape="box", fixedsize=True, label="")
    for number, (width, height) in enumerate(sizes):
        graph.add_node(number, width=width / POINTS_PER_INCH, height=height / POINTS_PER_INCH)
    for edge in edges:
        graph.add_edge(*edge)
    graph.layout(prog="dot")
    _, _, width, height = _numbers(graph.graph_attr["bb"])
    centres = [_numbers(graph.get_node(number).attr["pos"]) for number in range(len(groups))]
    nodes = (
        Node(group, lines, x, height - y, *size)
        for group, lines, (x, y), size in zip(groups, labels, centres, sizes, strict=True)
    )
    paths = (_path(edge.attr["pos"], height) for edge in graph.edges())
    return Picture(width, height, tuple(nodes), tuple(paths))


def _edges(
    layers: Sequence[Layer], groups: Sequence[tuple[int, ...]]
) -> tuple[list[tuple[int, int]], dict[int, list[int]]]:
    """The pairs of boxes that lines join; and for other boxes, which layers they read."""
    group_of = {layer: number for number, group in enumerate(groups) for layer in group}
    readers = Counter(read for layer in layers for read in layer.reads)
    apart = [
        (group_of[read], group_of[number], read)
        for number, layer in enumerate(layers)
        for read in layer.reads
        if group_of[read] != group_of[number]
    ]
    near = [end - begin for begin, end, read in apart if readers[read] <= MOST_READERS]
    farthest = _farthest(near, len(groups))
    edges: dict[tuple[int, int], None] = {}
    told: dict[int, list[int]] = {}
    for begin, end, read in apart:
        if readers[read] > MOST_READERS or end - begin > farthest:
            told.setdefault(end, []).append(read)
        else:
            edges[begin, end] = None
    return list(edges), told


def _farthest(distances: Sequence[int], boxes: int) -> int:
    """How far a line may lead, so that all lines together are not too long."""
    most = max(LONGEST, LONGEST_PER_BOX * boxes)
    for distance, passed in zip(sorted(distances), accumulate(sorted(distances)), strict=True):
        if passed > most:
            return min(distance - 1, FARTHEST)
    return FARTHEST


def _reads(layers: Sequence[Layer], read: Sequence[int]) -> list[str]:
    """A line about the layers that a box reads."""
    names = ", ".join(layers[number].name for number in read)
    return [_cut(f"reads {names}")] if names else []


def _label(layers: Sequence[Layer], group: tuple[int, ...]) -> tuple[str, str]:
    first, last = layers[group[0]], layers[group[-1]]
    if len(group) == 1:
        return _cut(first.type), _cut(first.name)
    return f"{len(group)} layers in a row", f"{_cut(first.name)} to {_cut(last.name)}"


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _numbers(text: str) -> list[float]:
    return list(map(float, text.split(",")))


def _path(text: str, height: float) -> str:
    """A path through the control points of a curve; Graphviz counts y upwards."""
    points = [(x, height - y) for x, y in map(_numbers, text.split())]
    first, *others = [f"{x:.1f},{y:.1f}" for x, y in points]
    return f"M{first}C{' '.join(others)}"
