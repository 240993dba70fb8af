"""ncc beside ncnn, onnxruntime and OpenVINO: many networks in one table, the losses too.

    python examples/peers.py models/*.param                    .bin and .onnx lie beside each
    python examples/peers.py models/*.param --files folder     they lie there, by the same names
    python examples/peers.py models/*.param --threads 2 --json > two.json
    python examples/peers.py net.param --shape in0=3x224x224   a shape that the file leaves open
    python examples/peers.py net.onnx --shape x=1x3x224x224    the same file for all but ncnn

All systems run a network in turns, each in a process of its own (`ncc bench --peers` does so for
one), and its least times are compared. What is not installed, or has no .onnx, is left out. Where
there is an .onnx, its inputs and outputs are what everybody runs: it often ends in front of a
detection head, and it tells shapes that a .param leaves open. --shape tells them, too.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from math import exp, log
from pathlib import Path

import ncc
from ncc.compiler.feeds import random_feeds
from ncc.compiler.measure.peers import SYSTEMS, Peer, compare_network
from ncc.compiler.ncnn.infer_shapes import parse_input_shape

Shapes = dict[str, tuple[int, ...]]


def signature(onnx: Path) -> tuple[Shapes, list[str]]:
    """The shapes of the inputs, without the batch axis, and the names of the outputs."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(onnx), providers=["CPUExecutionProvider"])
    shapes = {found.name: tuple(found.shape[1:]) for found in session.get_inputs()}
    closed = {name: s for name, s in shapes.items() if all(isinstance(n, int) for n in s)}
    return closed, [found.name for found in session.get_outputs()]


def named_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """in0=3x224x224"""
    try:
        return parse_input_shape(text)
    except ncc.InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def measure(param: Path, files: Path, asked: Shapes, threads: int, rounds: int) -> list[Peer]:
    """What every system takes for a network. asked: shapes of inputs, before those of the .onnx."""
    is_onnx = param.suffix == ".onnx"
    weights = None if is_onnx else files / f"{param.stem}.bin"
    onnx = param if is_onnx else files / f"{param.stem}.onnx"
    has_onnx = onnx.exists()
    shapes, outputs = signature(onnx) if has_onnx and not is_onnx else ({}, None)
    shapes |= asked
    model = ncc.compile(
        param, weights, num_threads=threads, input_shapes=shapes or None, outputs=outputs
    )
    return compare_network(
        param,
        weights,
        random_feeds(model.inputs, 0),
        [output.name for output in model.outputs],
        onnx=onnx if has_onnx else None,
        input_shapes=shapes,
        num_threads=threads,
        rounds=rounds,
    )


def least(peers: Sequence[Peer]) -> dict[str, float]:
    """The least milliseconds of each system that ran."""
    return {peer.system: peer.time.min for peer in peers if peer.time is not None}


def ratio(times: dict[str, float]) -> float | None:
    """The time of the fastest peer over that of ncc."""
    others = [ms for system, ms in times.items() if system != "ncc"]
    return min(others) / times["ncc"] if others and "ncc" in times else None


def line(name: str, times: dict[str, float]) -> str:
    """A row of the table."""
    cells = (f"{times[s]:11.2f}" if s in times else f"{'-':>11}" for s in SYSTEMS)
    found = ratio(times)
    return f"{name:24}" + " ".join(cells) + (f"{'-':>9}" if found is None else f"{found:7.2f} x")


def main() -> int:
    """Measure the networks asked for; the mean of the ratios is the geometric one.

    The exit code is 1 where a network could not be compiled.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("params", nargs="+", type=Path, metavar="PARAM")
    parser.add_argument("--files", type=Path, help="where .bin and .onnx are (beside the .param)")
    parser.add_argument(
        "--shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME=SHAPE",
        help="of an input, of every network: in0=3x224x224; may be given several times",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=10, help="more are surer")
    parser.add_argument("--json", action="store_true", help="milliseconds by network and system")
    chosen = parser.parse_args()
    found: dict[str, dict[str, float]] = {}
    if not chosen.json:
        print(f"{'least ms':24}" + " ".join(f"{s:>11}" for s in SYSTEMS) + f"{'best/ncc':>9}")
    refused = 0
    for param in chosen.params:
        try:
            files, asked = chosen.files or param.parent, dict(chosen.shape)
            peers = measure(param, files, asked, chosen.threads, chosen.rounds)
        except ncc.NccError as error:
            print(f"{param.stem}: {error}", file=sys.stderr)
            refused = 1
            continue
        found[param.stem] = least(peers)
        if not chosen.json:
            print(line(param.stem, found[param.stem]), flush=True)
        for peer in peers:
            if peer.reason is not None:
                print(f"{param.stem}: {peer.system}: {peer.reason}", file=sys.stderr)
    if chosen.json:
        print(json.dumps(found, indent=1))
        return refused
    ratios = [r for r in map(ratio, found.values()) if r is not None]
    if ratios:
        mean = exp(sum(map(log, ratios)) / len(ratios))
        print(f"geometric mean of best peer / ncc: {mean:.2f}; least {min(ratios):.2f}")
    return refused


if __name__ == "__main__":
    sys.exit(main())
