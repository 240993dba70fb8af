"""Every layer by itself gives what ncnn recorded: by its reference, and compiled.

Files are those that the writer makes of what ncnn's tests have.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import ncc
from ncc.compiler.read.read_network import read
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.layer import LAYERS, LayerError
from ncc.dialects.weights.sources import Array
from tests.judge import failed, judge, mark
from tests.layer_table import MARKS, PASSED, TABLE
from tests.recorded import Batch, Case
from tests.runnable import NAMES

TYPES = sorted(LAYERS) if NCNN.name else []

WAYS = [(2, "host"), (0, "host"), (2, "avx2"), (2, "baseline"), (1, "baseline")]
"""Levels and targets, the usual one first."""

REACHED = {"host", *NAMES}


def compiled(folder: Path, level: int, target: str) -> Callable[[Sequence[Case]], dict[str, Array]]:
    """Run recordings as one compiled network, from files that the writer made."""

    def run(cases: Sequence[Case]) -> dict[str, Array]:
        batch = Batch(cases)
        files = folder / "written.param", folder / "written.bin"
        write(read(*batch.write(folder), outputs=batch.outputs).module, *files)
        shapes = {name: array.shape for name, array in batch.feeds.items()}
        options: dict[str, Any] = {"input_shapes": shapes, "outputs": batch.outputs}
        options["input_types"] = batch.input_types
        model = ncc.compile(*files, opt_level=level, target=target, **options)
        return dict(model.run(batch.feeds))

    return run


# --- the tests ------------------------------------------------------------------------------

RecordedCases = Callable[[str], list[Case]]


def check_sample(
    type: str, cases: Sequence[Case], ways: Sequence[tuple[int, str]], count: int, folder: Path
) -> None:
    """Some recordings of a layer type, each way by others."""
    draw = random.Random(type)
    held = [case for case in cases if mark(case) is None]
    for level, target in ways:
        if target in REACHED:
            some = draw.sample(held, min(count, len(held)))
            assert not failed(judge(some, compiled(folder, level, target)))


@pytest.mark.parametrize("type", TYPES)
def test_sample(type: str, recorded_cases: RecordedCases, tmp_path: Path) -> None:
    """A recording of every layer type as it is used."""
    check_sample(type, recorded_cases(type), WAYS[:1], 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("type", TYPES)
def test_sample_on_every_target(type: str, recorded_cases: RecordedCases, tmp_path: Path) -> None:
    """Some recordings of every layer type for all other targets."""
    check_sample(type, recorded_cases(type), WAYS[2:], 1, tmp_path)


SLOW = [pytest.mark.slow, pytest.mark.layer_table]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(
    ("level", "target"),
    [pytest.param(*way, marks=SLOW) for way in WAYS[:2]]
    + [pytest.param(*way, marks=pytest.mark.sweep) for way in WAYS[2:]],
)
def test_all_compiled(
    type: str,
    level: int,
    target: str,
    recorded_cases: RecordedCases,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Every recording, in one network a layer type."""
    if target not in REACHED:
        pytest.skip(f"this CPU cannot run {target}")
    judged = judge(recorded_cases(type), compiled(tmp_path, level, target))
    if target == "host":
        request.config.stash[TABLE].add(type, f"-O{level}", judged)
    assert not failed(judged)


@pytest.mark.layer_table
@pytest.mark.slow
@pytest.mark.parametrize("type", TYPES)
def test_all_references(
    type: str,
    recorded_cases: RecordedCases,
    check_layer: Callable[..., object],
    request: pytest.FixtureRequest,
) -> None:
    """Every recording by the reference; those that are not compiled, too, where it can."""
    judged = {case.id: _by_reference(case, check_layer) for case in recorded_cases(type)}
    request.config.stash[TABLE].add(type, "reference", judged)
    marks = {case.id: case.mark for case in recorded_cases(type)}
    request.config.stash[TABLE].add(type, MARKS, marks)
    assert not failed(judged)


def _by_reference(case: Case, check_layer: Callable[..., object]) -> str:
    if case.type == "Input":
        return "is fed, not computed"
    try:
        check_layer(case, expand=False)
    except (AssertionError, LayerError, NotImplementedError) as error:
        return mark(case) or f"failed: {(str(error).splitlines() or ['?'])[0]}"
    return PASSED
