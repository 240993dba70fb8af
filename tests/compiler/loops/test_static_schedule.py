"""Short steps are handed out a share at a time, and every chunk is done once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.loops.launch.entry import Launch
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.runtime.session import Model

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
