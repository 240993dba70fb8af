"""Compiles and runs random graphs: right, refused by name, or WRONG.

python -m tests.onnx.random_nodes.judge 0 100           fixed sizes, one line for each seed
python -m tests.onnx.random_nodes.judge 0 100 --open    one compilation for five sizes
python -m tests.onnx.random_nodes.judge 7 8 --text      prints the graph, too
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

from ncc.compiler.diagnostics import CompilerBug, NccError, Unsupported
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.options import Options
from tests.onnx.converted import Arrays, difference
from tests.onnx.forked import forked
from tests.onnx.random_nodes.graph import RandomGraph, random_graph

SECONDS = 120
OPEN = 5
"""The sizes of a graph with open ones."""

TOLERANCE = 1e-4
"""A difference that is rounding, as a part of the largest value."""
TOLERANCE_OF_BYTES = 5e-2
"""The same behind bytes: one that lies between two may be either."""


def judged(graph: RandomGraph, level: int, target: str = "host", threads: int = 1) -> str:
    """ "right", why a graph is refused, or "WRONG" and why."""
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = Path(folder, "net.onnx")
            path.write_bytes(graph.data)
            options = Options.of(opt_level=level, target=target, num_threads=threads, tuned=False)
            model = compile_with(str(path), None, options)
            for case in graph.cases:
                _compare(model.run(dict(case.inputs)), case.outputs, graph.is_quantized)
    except Unsupported as error:
        return f"refused: {_line(error)}"
    except (NccError, AssertionError) as error:
        return f"WRONG: {type(error).__name__}: {_line(error)}"
    except Exception as error:  # which is a finding, and no reason to end
        where = traceback.extract_tb(error.__traceback__)[-1]
        at = f"{where.filename}:{where.lineno}"
        return f"WRONG: crash: {type(error).__name__}: {_line(error)} at {at}"
    return "right"


def _line(error: BaseException) -> str:
    text = re.sub(r"/tmp/\w+/", "", " ".join(str(error).split()))
    if isinstance(error, CompilerBug):
        return text[-700:]
    return text[:400]


def _compare(found: Arrays, wanted: Arrays, is_quantized: bool) -> None:
    assert set(found) == set(wanted), f"{set(found)} instead of {set(wanted)}"
    for name, theirs in wanted.items():
        ours = found[name]
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype), (
            f"{name} is {ours.dtype} {ours.shape} instead of {theirs.dtype} {theirs.shape}"
        )
        least = 2e-3 if theirs.dtype == np.float16 else TOLERANCE
        apart = difference(ours, theirs)
        assert apart <= (TOLERANCE_OF_BYTES if is_quantized else least), (
            f"{name} is {apart:.1e} off"
        )


def _task(seed: int, is_open: bool) -> list[str]:
    graph = random_graph(seed, OPEN if is_open else 1)
    target = ("host", "avx2", "baseline", "avx512")[seed % 4]
    found = [judged(graph, level, target, 2) for level in ((2, 0) if seed % 3 == 0 else (2,))]
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--open", action="store_true")
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--workers", type=int, default=1)
    chosen = parser.parse_args(arguments)
    # Loaded once: a fork of this process has them.
    import ncc.compiler.driver.assemble
    import ncc.compiler.llvm.object_code  # noqa: F401

    tasks = [(str(k), partial(_task, k, chosen.open)) for k in range(chosen.first, chosen.last)]
    counts: Counter[str] = Counter()
    for seed, found in forked(tasks, chosen.workers, SECONDS):
        if int(seed) % 20 == 0:
            print(f"{seed:6} ...", flush=True)
        for one in dict.fromkeys([found] if isinstance(found, str) else found):
            kind = one.split(":")[0]
            counts[kind] += 1
            if kind != "right":
                print(f"{seed:6} {one}", flush=True)
        if chosen.text:
            print(random_graph(int(seed), OPEN if chosen.open else 1).text)
    print(dict(counts))
    return int(set(counts) > {"right", "refused"})


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
