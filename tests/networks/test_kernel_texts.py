"""The kernels of generated and of real networks go through their text unchanged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.schedule.scheduled_kernel import ScheduledKernel, parse_kernels
from ncc.compiler.pipeline import kernels_of
from tests.crossed import some

KINDS = ["random_blocks", "random_int8", "random_network"]
QUICK, LONG, ALL = 2, 40, 120
Level: TypeAlias = tuple[str, int, int]
"""A target, a level of optimization, and threads."""

LEVELS: Sequence[Level] = (("avx512vnni", 2, 1), ("avx2", 2, 2), ("amx", 3, 2))


def check(param: Path, bin: Path | None, levels: Sequence[Level] = LEVELS, **options: Any) -> None:
    """All kernels on some levels."""
    for target, opt_level, threads in levels:
        kernels = kernels_of(
            param, bin, target=target, opt_level=opt_level, num_threads=threads, **options
        )
        written = [unit.scheduled for unit in kernels.loops.units if unit.scheduled is not None]
        read = parse_kernels(str(kernels))
        assert list(map(_made, read)) == list(map(_made, written))


def every(seeds: range) -> list[tuple[int, Sequence[Level]]]:
    """Each seed with all levels."""
    return [(seed, LEVELS) for seed in seeds]


def _made(one: ScheduledKernel) -> tuple[object, ...]:
    loops = write(one.kernel, one.schedule, one.name)
    return one.name, one.kernel.signature_text, one.schedule, str(loops)


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param([(seed, LEVELS[seed : seed + 1]) for seed in range(QUICK)], id="quick"),
        pytest.param(every(range(LONG)), id="long", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("kind", some(KINDS, usual=2))
def test_generated_networks(
    kind: str,
    ways: list[tuple[int, Sequence[Level]]],
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Layers of every type, chains of blocks, int8; a usual run has one level of each seed."""
    grow: Callable[[int], Any] = request.getfixturevalue(kind)
    for seed, levels in ways:
        param, bin = grow(seed).save(tmp_path)
        check(param, bin, levels)


@pytest.mark.sweep
@pytest.mark.parametrize("kind", KINDS)
def test_more_of_them(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Further seeds."""
    test_generated_networks(kind, every(range(LONG, ALL)), tmp_path, request)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["squeezenet", "mobilenet_v3", "resnet18"], indirect=True)
def test_networks(network: Any) -> None:
    """The benchmark networks."""
    check(network.param, None, random_weights=1)
