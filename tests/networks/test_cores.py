"""Plans for any core give the same numbers, on the core at hand.

What is chosen for other caches and other units is nothing that tests would meet where they run: a
core is said by hand here, a small one so that small networks are cut as large ones are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.read.read_network import read
from ncc.compiler.target import AVX2, ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD, Core, Target
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.interpret import interpret
from ncc.runtime import cpu
from ncc.runtime.session import Model
from tests.crossed import crossed
from tests.networks.random_growth import Growth
from tests.networks.random_network import RandomNetwork

# Of the largest value of an output.
TOLERANCE = 1e-4

CORES = {
    "one unit": ONE_UNIT,
    "two units": TWO_UNITS,
    "two units of AMD": TWO_UNITS_OF_AMD,
    "small": replace(ONE_UNIT, l1_bytes=8 << 10, l2_bytes=100 << 10),
    "tiny": replace(TWO_UNITS, l1_bytes=4 << 10, l2_bytes=24 << 10),
}
THREADS = (1, 2, 5)

QUICK, ALL, BATCH = 2, 20, 10
SOME = 16
"""So many networks have all choices in them."""

Grow = Callable[[int], Any]


def batches() -> Iterator[Any]:
    """For each core a seed, and slow ones."""
    for place, (name, core) in enumerate(CORES.items()):
        first = place % QUICK
        yield pytest.param(range(first, first + 1), core, id=f"{name}-quick")
        for first in range(0, ALL, BATCH):
            seeds = range(first, first + BATCH)
            yield pytest.param(seeds, core, id=f"{name}-{first}", marks=pytest.mark.slow)


def targets(core: Core) -> list[Target]:
    """Wide vectors and narrow ones, as far as this CPU has them."""
    host = Target.of("host", tiles=False)
    return [replace(one, core=core) for one in (host, AVX2) if one.features <= cpu.features()]


def require_numbers(network: RandomNetwork, target: Target, folder: Path) -> None:
    """Those of the references, and the same bits on any number of threads."""
    param, bin = network.save(folder)
    wanted = interpret(read(param, bin).module, network.feeds)
    options = Options(num_threads=max(THREADS), target=target)
    artifact = artifact_of(Compilation(param, bin, options))
    first, *others = (Model(artifact, count).run(network.feeds) for count in THREADS)
    for name, array in wanted.items():
        apart = difference(first[name], array)
        assert apart <= TOLERANCE, f"{target.name}, {name}: {apart:.2g}\n{network.text}"
        same = all(np.array_equal(first[name], other[name]) for other in others)
        assert same, f"{target.name}, {name}\n{network.text}"


@pytest.mark.parametrize(("seeds", "core"), batches())
def test_numbers(seeds: range, core: Core, random_blocks: Grow, tmp_path: Path) -> None:
    """Of blocks of layers with weights."""
    for seed in seeds:
        require_numbers(random_blocks(seed), targets(core)[0 if seed % 2 else -1], tmp_path)


@pytest.mark.parametrize(("core", "vectors"), crossed(list(CORES), ["wide", "narrow"], usual=1))
def test_products_with_constants(core: str, vectors: str, tmp_path: Path) -> None:
    """Of matrices, and stacks of 5 or of 24 of them, by others; one of the two is constant."""
    net = Growth(np.random.default_rng(5), most_elements=10_000)
    count = 24 if vectors == "wide" else 5
    for ranks, constant in product(product((2, 3, 4), repeat=2), (0, 1)):
        stacked = {2: (), 3: (count,), 4: (2, count)}
        a, b = (
            (net.constant if place == constant else net.fed)(net.random((*stacked[rank], *matrix)))
            for place, (rank, matrix) in enumerate(zip(ranks, ((3, 8), (8, 17)), strict=True))
        )
        net.one("MatMul", a, b)
    target = targets(CORES[core])[0 if vectors == "wide" else -1]
    require_numbers(RandomNetwork(0, tuple(net.lines), net.feeds), target, tmp_path)


@pytest.mark.parametrize(("core", "vectors"), crossed(list(CORES), ["wide", "narrow"], usual=1))
def test_products_of_what_is_fed(core: str, vectors: str, tmp_path: Path) -> None:
    """Of one row and of many by a matrix whose rows are no whole blocks, or are; and of some by one
    that lies across them and is larger than they are.
    """
    net = Growth(np.random.default_rng(7), most_elements=40_000)
    some = (16, 37) if vectors == "wide" else (5, 61)
    for rows, columns in product((1, 7, 48), some):
        net.one("MatMul", *(net.fed(net.random(shape)) for shape in ((rows, 40), (40, columns))))
    for shapes in (((32, 97), (97, 97)), ((3, 30, 99), (3, 101, 99)), ((2, 24, 70), (70, 70))):
        net.one("MatMul", *(net.fed(net.random(shape)) for shape in shapes), transB=1)
    target = targets(CORES[core])[0 if vectors == "wide" else -1]
    require_numbers(RandomNetwork(0, tuple(net.lines), net.feeds), target, tmp_path)


@pytest.mark.slow
def test_what_asks_for_caches_has_its_turn(random_blocks: Grow, tmp_path: Path) -> None:
    """Every pass that is told of a target changes some network, for a core of small caches."""
    changed: set[str] = set()
    for seed in range(SOME):
        param, bin = random_blocks(seed).save(tmp_path)
        texts: list[str] = []

        def look(name: str, module: ModuleOp, texts: list[str] = texts) -> None:
            texts.append(str(module))
            if texts[-2:-1] not in ([], [texts[-1]]):
                changed.add(name)

        [target, *_] = targets(CORES["tiny"])
        _ = Compilation(param, bin, Options(target=target), observe=look).planned
    told = {"choose-convolution", "peel-borders", "separate-groups", "split-reduction-for-cache"}
    assert told | {"trim-windows"} <= changed
