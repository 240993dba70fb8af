"""Small networks of every kind, compiled for libraries, and a run of each in Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ncc.compiler.driver.compile import compile_file, compile_with
from ncc.compiler.driver.specialise import callable_now
from ncc.compiler.feeds import random_feeds
from ncc.compiler.options import Options
from ncc.compiler.stopwatch import Stopwatch
from ncc.runtime.artifact import Artifact
from ncc.runtime.session import Model, in_memory

DECODER = Path(__file__).parents[3] / "examples" / "decoder" / "decoder.param"
TOKENS, BEFORE = 3, 4

PLAIN = """Input in0 0 1 data 0=20 1=20 2=3
Convolution conv 1 1 data 1 0=8 1=3 3=2 5=1 6=216 9=1
Pooling pool 1 1 1 2 0=1 4=1
InnerProduct fc 1 1 2 prob 0=10 1=1 2=80
"""

TEXTS = {
    "plain": PLAIN,
    "int8": """Input in0 0 1 data 0=12 1=12 2=16
Convolution conv 1 1 data 1 0=16 1=3 3=1 5=1 6=2304 8=1
InnerProduct fc 1 1 1 prob 0=10 1=1 2=16000 8=1
""",
    "rows": """Input location 0 1 location 0=80
Input confidence 0 1 confidence 0=60
Input priors 0 1 priors 0=80 1=2
DetectionOutput detect 3 1 location confidence priors rows 0=3 1=0.45 2=20 3=50 4=0.1
""",
    "names": """Input tokens 0 1 tokens 0=5
Input other 0 1 out/a 0=4 1=5
Embed embed 1 1 tokens e 0=4 1=50 3=200
BinaryOp add 2 1 e out/a out_a 0=0
""",
    "no weights": """Input in0 0 1 float 0=6 1=4
Softmax soft 1 1 float run 0=0
""",
}
ANY_SIZE = """Input in0 0 1 data
Convolution conv 1 1 data a 0=8 1=3 3=2 4=1 5=1 6=216 9=1
Split split 1 2 a a1 a2
Convolution same 1 1 a1 b 0=8 1=3 4=1 5=1 6=576
BinaryOp add 2 1 a2 b map 0=0
Split ends 1 2 map m1 m2
ReLU out 1 1 m1 sums
Pooling mean 1 1 m2 flat 0=1 4=1
InnerProduct fc 1 1 flat prob 0=10 1=1 2=80
"""
KINDS = (*TEXTS, "caches")


@dataclass(frozen=True)
class Compiled:
    """A network that was compiled for up to two threads, and a run of it in Python."""

    artifact: Artifact
    feeds: Mapping[str, np.ndarray[Any, Any]]
    results: Mapping[str, np.ndarray[Any, Any]]


@cache
def compiled(kind: str, target: str = "host", seed: int = 1) -> Compiled:
    """A network of a kind, with weights of a seed."""
    model = _model(kind, target, seed)
    feeds = dict(random_feeds(model.inputs, 1, (0, 1)))
    for name in [name for name in feeds if name.startswith("cache")]:
        heads, _, features = feeds[name].shape
        feeds[name] = np.random.default_rng(2).random((heads, BEFORE, features), np.float32)
    if kind == "caches":
        feeds["in1"] = np.zeros((TOKENS, TOKENS + BEFORE), np.float32)
    return Compiled(model.artifact, feeds, model.run(feeds))


def _options(kind: str, target: str, seed: int) -> Options:
    shapes = {"in0": (TOKENS, 64), "in2": (TOKENS, 8), "in3": (TOKENS, 8)}
    return Options.of(
        target=target,
        num_threads=2,
        random_weights=seed,
        input_shapes=shapes if kind == "caches" else {},
        tuned=False,
    )


def _model(kind: str, target: str, seed: int) -> Model:
    options = _options(kind, target, seed)
    if kind == "caches":
        return callable_now(compile_with(DECODER, None, options))
    with TemporaryDirectory() as folder:
        return compile_with(_param(kind, folder), None, options)


@cache
def artifact_for(kind: str, target: str) -> Artifact:
    """The network of a kind for another processor, with weights of seed 1."""
    options = _options(kind, target, 1)
    with TemporaryDirectory() as folder:
        path = Path(folder, "net.ncc")
        compile_file(_param(kind, folder), None, options, path, Stopwatch())
        return in_memory(Artifact.load(path, any_cpu=True))


@cache
def any_size(*ranges: tuple[int, int] | None, target: str = "host") -> Artifact:
    """A network for images of every size, or of heights and widths in ranges."""
    options = Options.of(
        target=target,
        num_threads=2,
        random_weights=1,
        input_shapes={"data": (3, *(ranges or (None, None)))},
        ahead=True,
        tuned=False,
    )
    with TemporaryDirectory() as folder:
        param, path = Path(folder, "net.param"), Path(folder, "net.ncc")
        param.write_text(param_text(ANY_SIZE))
        compile_file(param, None, options, path, Stopwatch())
        return in_memory(Artifact.load(path, any_cpu=True))


def _param(kind: str, folder: str) -> Path:
    if kind == "caches":
        return DECODER
    path = Path(folder, "net.param")
    path.write_text(param_text(TEXTS[kind]))
    return path


def param_text(layers: str) -> str:
    """The text of a .param with these layers."""
    lines = layers.splitlines()
    blobs = sum(int(line.split()[3]) for line in lines)
    return "\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""])
