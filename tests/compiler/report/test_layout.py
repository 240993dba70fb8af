"""Layers are placed in their order from top to bottom, and chains are folded."""

from __future__ import annotations

import pytest

pytest.importorskip("pygraphviz", reason="pygraphviz is not installed")

from ncc.compiler.report.facts import Layer  # noqa: E402
from ncc.compiler.report.layout import (  # noqa: E402
    FARTHEST,
    LONGEST,
    MOST_CHARACTERS,
    _edges,
    chains,
    one_by_one,
    placed,
)


def layers(*reads: tuple[int, ...], name: str = "layer") -> list[Layer]:
    """Layers that read others, by their positions."""
    return [
        Layer("ReLU", f"{name}{number}", 0, "", (), read, 0, 0) for number, read in enumerate(reads)
    ]


FORK = layers((), (0,), (1,), (2,), (2,), (4,), (5,), (3, 6))
"""A chain of three, a fork into one layer and three, and a layer that joins both."""


def test_chains_end_at_forks_and_joins() -> None:
    """A chain has three layers at least."""
    assert chains(FORK) == [(0, 1, 2), (3,), (4, 5, 6), (7,)]
    assert chains(layers((), (0,))) == [(0,), (1,)], "two layers are no chain"
    assert chains([]) == []


def test_every_layer_is_in_one_group() -> None:
    """No layer is lost or drawn twice."""
    for groups in (chains(FORK), one_by_one(FORK)):
        assert sorted(number for group in groups for number in group) == list(range(8))


def test_readers_are_below() -> None:
    """The picture goes from top to bottom, and nothing leaves it."""
    picture = placed(FORK, one_by_one(FORK))
    place = {node.layers[0]: node for node in picture.nodes}
    for number, layer in enumerate(FORK):
        assert all(place[read].y < place[number].y for read in layer.reads)
    assert len(picture.edges) == 8
    for node in picture.nodes:
        assert 0.0 <= node.x - node.width / 2 < node.x + node.width / 2 <= picture.width + 0.1
        assert -0.1 <= node.y - node.height / 2 < node.y + node.height / 2 <= picture.height + 0.1


def test_boxes_do_not_overlap() -> None:
    """Every name can be read."""
    nodes = placed(FORK, chains(FORK)).nodes
    for one in nodes:
        for other in nodes:
            apart = abs(one.x - other.x) >= (one.width + other.width) / 2
            apart |= abs(one.y - other.y) >= (one.height + other.height) / 2
            assert one is other or apart


def test_a_box_names_its_layers() -> None:
    """Of a chain, the first and the last."""
    labels = [node.lines for node in placed(FORK, chains(FORK)).nodes]
    assert labels[0] == ("3 layers in a row", "layer0 to layer2")
    assert labels[1] == ("ReLU", "layer3")


@pytest.mark.parametrize("name", ["<b>x</b>", '"', "\\N", "日本", "a" * 500])
def test_any_name_is_a_label(name: str) -> None:
    """Graphviz reads no names."""
    (node,) = placed(layers((), name=name), [(0,)]).nodes
    assert node.lines[1] == f"{name}0" or len(node.lines[1]) == MOST_CHARACTERS


def test_a_network_of_one_layer_has_no_edges() -> None:
    """Graphviz places one box, too."""
    assert placed(layers(()), [(0,)]).edges == ()


def test_far_layers_are_named_and_not_joined() -> None:
    """As a mask that all blocks read: lines across the picture would hide the others."""
    mask = layers((), (), *[(number + 1, 0) for number in range(12)])
    picture = placed(mask, one_by_one(mask))
    assert len(picture.edges) == 12, "the chain"
    told = [node.lines for node in picture.nodes if len(node.lines) > 2]
    assert told == [("ReLU", f"layer{number}", "reads layer0") for number in range(2, 14)]


def test_a_reader_far_behind_is_not_joined() -> None:
    """Though it is the only other one."""
    count = FARTHEST + 3
    far = layers((), *[(number,) for number in range(count - 2)], (count - 2, 0))
    picture = placed(far, one_by_one(far))
    assert len(picture.edges) == count - 1
    assert picture.nodes[-1].lines[-1] == "reads layer0"


def test_lines_are_not_too_long_together() -> None:
    """Where each layer reads the eight before it: the longest ones are told, all of a length."""
    count = LONGEST // 8
    dense = layers(*[tuple(range(max(0, number - 8), number)) for number in range(count)])
    edges, told = _edges(dense, one_by_one(dense))
    assert {end - begin for begin, end in edges} == {1, 2, 3}
    assert told[count - 1] == list(range(count - 9, count - 4))
    assert not _edges(dense[:100], one_by_one(dense[:100]))[1], "a small network has all lines"
