"""Kernels and schedules as text, which parses back to equal ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from xdsl.utils.exceptions import ParseError

from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernels_text import KernelsText
from ncc.compiler.loops.schedule.schedule import Strategy
from ncc.compiler.loops.schedule.scheduled_kernel import ScheduledKernel, parse_kernels
from ncc.compiler.pipeline import kernels_of

FLOATS = """7767517
13 14
Input data 0 1 data 0=30 1=29 2=16
Convolution wide 1 1 data c1 0=24 1=3 4=1 5=1 6=3456 9=1
ConvolutionDepthWise dw 1 1 c1 d1 0=24 1=3 3=2 4=1 5=1 6=216 7=24 9=2 -23310=1,1.0e-1
ShuffleChannel mixed 1 1 d1 m1 0=2
Split parts 1 2 m1 m1a m1b
Pooling pool 1 1 m1a p1 0=0 1=2 2=2 5=1
Convolution narrow 1 1 m1b n1 0=20 1=1 5=1 6=480
Swish swish 1 1 n1 s1
Reduction mean 1 1 s1 r1 0=3 1=0 -23303=2,1,2 4=1 5=1
Interp up 1 1 p1 u1 0=2 1=2.0 2=2.0
Permute turned 1 1 u1 t1 0=3
Softmax prob 1 1 t1 q1 0=2 1=1
Flatten flat 1 1 r1 f1
"""

WIDE = """7767517
4 4
Input data 0 1 data 0=30 1=29 2=64
Convolution conv 1 1 data c1 0=64 1=3 4=1 5=1 6=36864 9=1
Convolution flat 1 1 c1 f1 0=256 1=1 5=1 6=16384 9=1
Convolution last 1 1 f1 l1 0=64 1=1 5=1 6=16384
"""

NUMBER = """7767517
2 2
Input data 0 1 data 0=1
Reduction mean 1 1 data mean 0=3 1=1 4=0
"""

INT8 = """7767517
4 4
Input data 0 1 data 0=30 1=29 2=16
Convolution conv 1 1 data c1 0=32 1=3 4=1 5=1 6=4608 8=2 9=1
ConvolutionDepthWise dw 1 1 c1 d1 0=32 1=3 4=1 5=1 6=288 7=32 8=1 9=1
Convolution last 1 1 d1 l1 0=32 1=1 5=1 6=1024 8=2
"""


def check(kernels: KernelsText) -> set[Strategy]:
    """Everything that the text says is read again: equal kernels and schedules, and loops made from
    these are the same letter by letter. Returns the strategies that were met.
    """
    written = [unit.scheduled for unit in kernels.loops.units if unit.scheduled is not None]
    read = parse_kernels(str(kernels))
    assert [one.name for one in read] == [one.name for one in written]
    for one, other in zip(read, written, strict=True):
        assert one.kernel.signature_text == other.kernel.signature_text
        assert one.schedule == other.schedule
        assert one.text() == other.text()
        assert _loops(one) == _loops(other)
    return {one.schedule.strategy for one in read}


def _loops(one: ScheduledKernel) -> str:
    return str(write(one.kernel, one.schedule, one.name))


@pytest.fixture(name="net")
def param_file(tmp_path: Path) -> Any:
    """net(text): the path of a network."""

    def path_of(text: str) -> Path:
        path = tmp_path / "net.param"
        path.write_text(text)
        return path

    return path_of


@pytest.mark.parametrize(
    "text, options, strategies",
    [
        (FLOATS, {"target": "avx512"}, "channel_gather k_split rows transform transposed window"),
        (FLOATS, {"target": "avx512", "num_threads": 3}, "k_split pointwise"),
        (FLOATS, {"target": "avx2"}, "contraction"),
        (FLOATS, {"target": "baseline", "opt_level": 0}, "gathered interleaved scalar"),
        (WIDE, {"target": "amx", "opt_level": 3}, "matrix_tiles"),
        (INT8, {"target": "avx512vnni"}, "dot window_dot"),
        (INT8, {"target": "avx2"}, "dot"),
        (NUMBER, {"target": "avx2"}, "scalar"),
    ],
)
def test_round_trip(net: Any, text: str, options: Any, strategies: str) -> None:
    """Every kernel of networks for every kind of instructions."""
    assert set(map(Strategy, strategies.split())) <= check(
        kernels_of(net(text), random_weights=1, **options)
    )


@pytest.mark.parametrize(
    "change, message",
    [
        (("order d0", "order d9"), "there is no loop d9"),
        (("schedule ", "schedule un"), "there is no strategy"),
        (("loops", "loop"), "Expected 'loops'"),
        (("store arg", "store crg"), "arg and a number expected"),
        (("\n}", "\n} junk"), "a kernel expected"),
    ],
)
def test_errors(net: Any, change: tuple[str, str], message: str) -> None:
    """A wrong text is refused, at the position of the error."""
    kernels = kernels_of(net(FLOATS), random_weights=1, target="avx2")
    scheduled = next(unit.scheduled for unit in kernels.loops.units if unit.scheduled is not None)
    text = scheduled.text()
    assert change[0] in text
    with pytest.raises(ParseError, match=message):
        parse_kernels(text.replace(*change))
