"""Random ONNX graphs: compiled code makes what onnxruntime does, at all sizes, or ncc refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.onnx.random_nodes.graph import Case, random_graph
from tests.onnx.random_nodes.judge import OPEN, judged

BATCH = 10
OTHERS = [
    pytest.param(
        range(first, first + BATCH), marks=pytest.mark.slow if first < 20 else pytest.mark.sweep
    )
    for first in range(BATCH, 600, BATCH)
]


@pytest.mark.parametrize("count", [1, OPEN])
@pytest.mark.parametrize("seeds", [range(1), *OTHERS], ids=lambda seeds: f"{seeds[0]}")
def test_random_graphs(seeds: range, count: int) -> None:
    """At -O2, and now and then at -O0 and on two threads."""
    wrong = []
    for seed in seeds:
        graph = random_graph(seed, count)
        for level in (2, 0) if seed % 3 == 2 else (2,):
            found = judged(graph, level, threads=1 + seed % 2)
            if found.startswith("WRONG"):
                wrong.append(f"seed {seed}: {found}\n{graph.text}")
    assert not wrong, "\n".join(wrong)


def test_a_seed_is_a_graph() -> None:
    """The same seed gives the same file."""
    assert random_graph(3).data == random_graph(3).data != random_graph(4).data


def test_a_wrong_result_is_told() -> None:
    """Of a value that is another one."""
    graph = random_graph(0)
    (case,) = graph.cases
    others = {name: np.asarray(array + 1, array.dtype) for name, array in case.outputs.items()}
    assert judged(replace(graph, cases=(Case(case.inputs, others),)), 0).startswith("WRONG")
