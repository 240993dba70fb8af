"""What follows an accumulation gives the same bits in a loop over the tile as in line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects import math, memref

import ncc
from ncc.compiler.loops.emit import epilogue as finish
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from tests.crossed import crossed
from tests.runnable import NAMES as RUNNABLE


def _param(folder: Path, height: int, kernel: int) -> Path:
    """A convolution, its swish, and a second one that is added to it."""
    weights, pad = 24 * 40 * kernel**2, kernel // 2
    text = f"""7767517
6 7
Input data 0 1 data 0=9 1={height} 2=24
Split split 1 2 data a b
Convolution conv 1 1 a conv 0=40 1={kernel} 4={pad} 5=1 6={weights}
Swish swish 1 1 conv swish
Convolution other 1 1 b other 0=40 1=1 5=1 6=960
BinaryOp sum 2 1 swish other out 0=0
"""
    path = folder / "net.param"
    path.write_text(text)
    return path


@pytest.mark.parametrize(("target", "sizes"), crossed(RUNNABLE, [(5, 3), (14, 1), (7, 1)]))
def test_a_loop_computes_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, sizes: tuple[int, int]
) -> None:
    """Also with a residual sum behind the function, and remainders of the tile."""
    path = _param(tmp_path, *sizes)
    data = np.random.default_rng(1).normal(0, 3, (24, sizes[0], 9)).astype(np.float32)
    found = []
    for most in (0, 1000):
        monkeypatch.setattr(finish, "IN_LINE", most)
        monkeypatch.setenv("NCC_CACHE", "off")
        model = ncc.compile(path, random_weights=1, target=target)
        found.append(model.run({"data": data})["out"])
    in_turn, in_line = found
    assert np.array_equal(in_turn, in_line)


def test_a_function_is_written_for_two_points_in_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not once for each of the accumulators of a tile, unless they are few: there are 4 to 24."""
    options = Options.of(random_weights=1, target="avx512")
    compilation = Compilation(_param(tmp_path, 14, 1), None, options)
    units = compilation.loops(*compilation.planned).units

    def written(most: int) -> int:
        monkeypatch.setattr(finish, "IN_LINE", most)
        return sum(isinstance(op, math.ExpOp) for unit in units for op in unit.module().walk())

    few = finish.IN_LINE
    assert 0 < 2 * written(0) < written(1000)
    assert written(0) < written(few) < written(1000)


def test_a_window_is_finished_where_it_was_summed(tmp_path: Path) -> None:
    """Its few accumulators stay in registers: nothing waits in memory."""
    path = tmp_path / "net.param"
    path.write_text("""7767517
3 3
Input data 0 1 data 0=14 1=14 2=32
ConvolutionDepthWise conv 1 1 data conv 0=32 1=3 4=1 5=1 6=288 7=32
Swish swish 1 1 conv out
""")
    compilation = Compilation(path, None, Options.of(random_weights=1, target="avx512"))
    units = compilation.loops(*compilation.planned).units
    ops = [op for unit in units for op in unit.module().walk()]
    assert any(isinstance(op, math.ExpOp) for op in ops)
    assert not any(isinstance(op, memref.AllocaOp) for op in ops)
