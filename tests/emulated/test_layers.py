"""Layers on emulated processors give what ncnn recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.read.read_network import read
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.quantization.int8 import quantize_array
from ncc.dialects.weights.sources import Array
from tests.c_programs import AARCH64, Library, arrays_of, emulated
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


QUANTIZED = """7767517
5 6
Input x 0 1 x 0=1587
Split two 1 2 x a b
ReLU positive 1 1 b c
Quantize any 1 1 a y
Quantize floored 1 1 c z
"""
LIMITS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, 3e38, -3e38, 2e9, -2e9, 99.5, -0.1])
HALVES = np.arange(-262, 263, dtype=np.float32) / 2


@emulated
@pytest.mark.slow
@pytest.mark.parametrize("target", CPUS)
def test_rounding(target: str, tmp_path: Path) -> None:
    """Halves go away from zero, what is too large is limited, and NaN is -127."""
    near = [HALVES, np.nextafter(HALVES, -1e9), np.nextafter(HALVES, 1e9)]
    x = np.concatenate([LIMITS, *near]).astype(np.float32)
    files = tmp_path / "net.param", tmp_path / "net.bin"
    files[0].write_text(QUANTIZED)
    files[1].write_bytes(np.ones(2, np.float32).tobytes())
    library = Library(compiled(*files, target), tmp_path, toolchain=AARCH64)
    made = arrays_of(library.signature, library.run({"x": x}))
    np.testing.assert_array_equal(made["y"], quantize_array(x, np.float32(1)))
    np.testing.assert_array_equal(made["z"], quantize_array(np.maximum(x, 0), np.float32(1)))
