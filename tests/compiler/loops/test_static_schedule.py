"""Short steps are handed out a share at a time, and every chunk is done once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.loops.build_network import NetworkLoops, build
from ncc.compiler.loops.launch.script import Launch, LoopLaunch
from ncc.compiler.loops.static_schedule import statically_scheduled
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.plan import Plan
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, form_of, hint, is_open
from ncc.runtime.session import Model
from tests.compiler.loops.rolled import rolled

SEED = 3
NETWORK = """7767517
5 5
Input in 0 1 in 0=20 1=20 2=16
Convolution short 1 1 in short 0=16 1=1 5=1 6=256 9=1
Convolution long 1 1 short long 0=512 1=3 4=1 5=1 6=73728
Pooling pool 1 1 long pool 0=0 1=2 2=2
Softmax chances 1 1 pool out 0=0 1=1
"""


@pytest.fixture
def param(tmp_path: Path) -> Path:
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    return path


def compiled(param: Path, threads: int, target: str = "host") -> Compilation:
    options = Options.of(num_threads=threads, random_weights=SEED, tuned=False, target=target)
    return Compilation(param, None, options)


def loops_of(compilation: Compilation) -> NetworkLoops:
    module = compilation.structured(compilation.network())
    return compilation.loops(module, compilation.plan(module))


def launches(param: Path, threads: int) -> dict[str, Launch]:
    """The launch of each layer; for a stated core, since others compute the long one otherwise."""
    loops = loops_of(compiled(param, threads, "avx512"))
    found = [launch for launch in loops.script if isinstance(launch, Launch)]
    return dict(zip(["+".join(step.layers) for step in loops.steps], found, strict=True))


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_short_steps(param: Path, threads: int) -> None:
    """One share for each thread; threads take long steps bit by bit."""
    found = launches(param, threads)
    short, long = found["short"], found["long"]
    assert short.at_once == -(-short.chunks // threads) > 1
    assert long.at_once == 1 < long.chunks
    assert all(launch.at_once == 1 for launch in launches(param, 1).values())


def test_results(param: Path) -> None:
    """The same bits for any number of threads, and with fewer threads."""
    x = np.random.default_rng(0).standard_normal((16, 20, 20)).astype(np.float32)
    wanted = Model(artifact_of(compiled(param, 1))).run({"in": x})["out"]
    for threads in (2, 3, 5):
        artifact = artifact_of(compiled(param, threads))
        for running in (1, 2, threads):
            found = Model(artifact, num_threads=running).run({"in": x})["out"]
            assert (found == wanted).all()


def parts(b: Builder, x: Tensor) -> Tensor:
    """Two kernels for each of four parts, the second of which is longer."""
    made = []
    for number in range(4):
        part = b.slice(x, (16 * number, 0), (16, x.shape[1]))
        r, c = b.loops_of(part.shape)
        half = b.map((r, c), part[r, c] * 0.5 + x[63, c])
        r, c, k = b.loops(f"r:16 c:{x.shape[1]} k:{x.shape[1]}")
        made.append(b.sum((r, c), (k,), half[r, k] * x[c, k]))
    return b.concat(made, 0)


@pytest.mark.parametrize("columns", [64, 512])
def test_launches_in_a_loop_are_shared_as_others(
    make_network: Callable[..., ModuleOp], make_plan: Callable[..., Plan], columns: int
) -> None:
    """Short ones a thread's share at a time, long ones bit by bit; private loops stay."""
    module = make_network([(columns, columns)], parts)
    plan = rolled(make_plan(module), 0, 2, 4)
    shared, alone = (
        statically_scheduled(build(one, AVX512, 1, threads=2), 2, AVX512.costs.threads).script
        for one in (plan, plan.unrolled())
    )
    (loop,) = (step for step in shared if isinstance(step, LoopLaunch))
    wanted = [step.at_once for step in alone if isinstance(step, Launch)]
    assert [launch.at_once for launch in loop.launches] * 4 == wanted
    assert wanted[0] > 1 and (wanted[1] > 1) == (columns == 64)
    private = build(
        rolled(make_plan(make_network([(columns, columns)], parts)), 0, 2, 4, 2), AVX512, 1
    )
    assert statically_scheduled(private, 2, AVX512.costs.threads).script == private.script


@pytest.mark.parametrize("threads", [2, 3])
def test_short_steps_of_any_size(param: Path, threads: int) -> None:
    """For the hint as if sizes were known; a thread takes a chunk at least, and never more at once
    than for the hint.
    """
    param.write_text(NETWORK.replace("0=20 1=20", "0=0 1=0"))
    compilation = compiled(param, threads, "avx512")
    module = compilation.source.clone()
    h, w = Size.symbol("h", 20), Size.symbol("w", 20)
    infer_shapes(module, {"in": (16, h, w)})
    canonicalize(module)
    module = compilation.structured(module)
    loops = compilation.loops(module, compilation.plan(module))
    launched = [step for step in loops.script if isinstance(step, Launch)]
    shares = [step for step in launched if is_open(step.at_once)]
    assert shares and any(step.at_once == 1 and is_open(step.chunks) for step in launched)
    for step in shares:
        assert hint(step.at_once) == -(-hint(step.chunks) // threads)
        for extent in (1, 2, 7, 20, 300):
            at_once, chunks = (
                form_of(n).value({"h": extent, "w": extent}) for n in (step.at_once, step.chunks)
            )
            assert at_once == max(1, min(-(-chunks // threads), hint(step.at_once)))
