"""Layers on emulated processors give what ncnn recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.read.read_network import read
from ncc.compiler.write.write_network import write
from ncc.dialects.weights.sources import Array
from tests.emulated.emulator import CPUS, Emulator, compiled, same_bits
from tests.emulated.subjects import PARTS, recordings
from tests.judge import failed, judge
from tests.recorded import Batch, Case


def by_emulator(folder: Path, target: str) -> Callable[[Sequence[Case]], dict[str, Array]]:
    """Run recordings as one network, as code for this machine is tested."""

    def run(cases: Sequence[Case]) -> dict[str, Array]:
        batch = Batch(cases)
        files = folder / "written.param", folder / "written.bin"
        write(read(*batch.write(folder), outputs=batch.outputs).module, *files)
        shapes = {name: array.shape for name, array in batch.feeds.items()}
        artifact = compiled(
            *files,
            target,
            input_shapes=shapes,
            input_types=batch.input_types,
            outputs=batch.outputs,
        )
        [(one, two)] = Emulator(target).run([(artifact, batch.feeds)], folder)
        assert same_bits(one, two)
        return {name: np.asarray(array) for name, array in one.items()}

    return run


@pytest.mark.sweep
@pytest.mark.parametrize("target", CPUS)
@pytest.mark.parametrize("part", range(PARTS))
def test_recordings(
    part: int, target: str, recorded_cases: Callable[[str], list[Case]], tmp_path: Path
) -> None:
    """Some of every layer type, those of a quarter of the types in one network."""
    some = recordings(part, target, recorded_cases)
    assert not failed(judge(some, by_emulator(tmp_path, target)))
