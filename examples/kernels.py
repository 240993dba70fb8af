"""Every family of kernels beside what this machine can do: its multiply-adds and its bandwidth.

    python examples/kernels.py                             all of them, about two minutes
    python examples/kernels.py 'conv 3x3' --threads 2      those whose name has this in it
    python examples/kernels.py --level 3                   on matrix tiles, where the CPU has them
    python examples/kernels.py --json > before.json
    python examples/kernels.py --against before.json       exit code 1 where one has become slower

Each is a network with weights made up, whose last layer counts, and neither those before it, which
make what a network would hand it, nor what brings inputs into the layout that it wants. Arithmetic
is what the kernels do: that of a Winograd convolution is a third of the layer's. Concat, Slice and
Reshape are not here: they move no data, nor does a shuffle whose channels a convolution makes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path

from ncc.compiler.measure.bench import StepCost, bench

KERNEL = "kernel"
"""The name of the layer that is measured."""


@dataclass(frozen=True)
class Case:
    """One layer on values of some shapes (numpy order), its params as a .param file writes them.

    computed: the values come from convolutions of three channels each, in whatever layout these
    choose, and not from outside.
    """

    name: str
    layer: str
    params: str
    shapes: tuple[tuple[int, ...], ...]
    computed: bool = False

    def text(self) -> str:
        """The network."""
        lines = []
        for number, shape in enumerate(self.shapes):
            fed = (3, *shape[1:]) if self.computed else shape
            lines.append(f"Input in{number} 0 1 in{number} {_extents(fed)}")
            if self.computed:
                params = f"0={shape[0]} 1=1 5=1 6={3 * shape[0]}"
                lines.append(f"Convolution to{number} 1 1 in{number} x{number} {params}")
        names = [f"{'x' if self.computed else 'in'}{number}" for number in range(len(self.shapes))]
        lines.append(f"{self.layer} {KERNEL} {len(names)} 1 {' '.join(names)} out {self.params}")
        return "\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines]) + "\n"


@dataclass(frozen=True)
class Result:
    """What a case takes. of_peak, of_bandwidth: its share of what was measured beside it, of the
    peak of vectors, matrix tiles or products of bytes, whatever it uses; of_bound: how near it is
    to the longer of the times that its arithmetic and its bytes take at least.

    turns: its time by the peak's clock, which compares on a machine whose clock changes.
    """

    name: str
    ms: float
    gflops: float
    of_peak: float
    gbytes: float
    of_bandwidth: float
    bound: str
    of_bound: float
    turns: float


def _extents(shape: tuple[int, ...]) -> str:
    """The params of an Input, innermost extent first."""
    ids = {1: (0,), 2: (0, 1), 3: (0, 1, 2)}[len(shape)]
    return " ".join(f"{id}={extent}" for id, extent in zip(ids, reversed(shape), strict=True))


def convolution(
    name: str, inputs: int, outputs: int, size: int, kernel: int, more: str = "", group: int = 1
) -> Case:
    """inputs x size x size, padded so that the size stays but for a stride."""
    weights = inputs * outputs * kernel * kernel // group
    computed = inputs != 3
    params = f"0={outputs} 1={kernel} 4={kernel // 2} 5=1 6={weights} {more}"
    layer = "Convolution"
    if group > 1:
        layer, params = "ConvolutionDepthWise", f"{params} 7={group}"
    shape = f"{inputs}->{outputs} at {size}x{size}"
    return Case(f"{name} {shape}", layer, params, ((inputs, size, size),), computed)


def cases() -> list[Case]:
    """Each family, at sizes that networks have."""
    return [
        convolution("conv 1x1", 32, 64, 112, 1),
        convolution("conv 1x1", 256, 256, 28, 1),
        convolution("conv 1x1", 512, 512, 14, 1),
        convolution("conv 1x1", 1024, 1024, 7, 1),
        convolution("conv 1x1, odd channels", 116, 116, 28, 1),
        convolution("conv 1x1 /2", 256, 512, 56, 1, "3=2"),
        convolution("conv 3x3 /2", 128, 256, 28, 3, "3=2"),
        convolution("conv 3x3, dilated", 128, 128, 28, 3, "2=2 4=2"),
        convolution("conv 5x5", 48, 128, 28, 5),
        convolution("conv 3x3, Winograd", 64, 64, 56, 3),
        convolution("conv 3x3, Winograd", 512, 512, 14, 3),
        convolution("conv 7x7 /2, first", 3, 64, 224, 7, "3=2"),
        convolution("conv 3x3 /2, first", 3, 32, 224, 3, "3=2"),
        convolution("depthwise 3x3", 144, 144, 56, 3, group=144),
        convolution("depthwise 3x3 /2", 144, 144, 56, 3, "3=2", group=144),
        convolution("depthwise 5x5", 240, 240, 28, 5, group=240),
        convolution("grouped 3x3, 32 groups", 256, 256, 28, 3, group=32),
        Case("conv 3x3, int8 128->128 at 28x28", "Convolution", _INT8, ((128, 28, 28),), True),
        Case("deconv 4x4 *2 64->64 at 28x28", "Deconvolution", _DECONV, ((64, 28, 28),), True),
        Case(
            "inner product, vector 2048->1000", "InnerProduct", "0=1000 1=1 2=2048000", ((2048,),)
        ),
        Case(
            "inner product, 197 rows 768->3072",
            "InnerProduct",
            "0=3072 1=1 2=2359296",
            ((197, 768),),
        ),
        Case("gemm 384x384x384", "Gemm", "3=1", ((384, 384), (384, 384))),
        Case("matmul 12x197x64x197", "MatMul", "0=1", ((12, 197, 64), (12, 197, 64))),
        Case("attention 197x768", "MultiHeadAttention", "0=768 1=12 2=589824", ((197, 768),)),
        Case("LSTM 256->256, 32 steps", "LSTM", "0=256 1=262144 2=0", ((32, 256),)),
        Case("layer norm 197x768", "LayerNorm", "0=768 1=1e-6 2=1", ((197, 768),)),
        Case("softmax 12x197x197", "Softmax", "0=-1 1=1", ((12, 197, 197),)),
        Case("GELU 197x3072", "GELU", "0=0", ((197, 3072),)),
        Case("swish 144x56x56", "Swish", "", ((144, 56, 56),)),
        Case("add 144x56x56", "BinaryOp", "0=0", ((144, 56, 56), (144, 56, 56))),
        Case("max pooling 3x3 /2 64x112x112", "Pooling", "0=0 1=3 2=2", ((64, 112, 112),), True),
        Case("global pooling 512x14x14", "Pooling", "0=1 4=1", ((512, 14, 14),), True),
        Case("interp, nearest *2 64x28x28", "Interp", "0=1 1=2.0 2=2.0", ((64, 28, 28),), True),
        Case("interp, bilinear *2 64x28x28", "Interp", "0=2 1=2.0 2=2.0", ((64, 28, 28),), True),
        Case("shuffle of channels 232x28x28", "ShuffleChannel", "0=2", ((232, 28, 28),)),
        Case("permute 64x56x56", "Permute", "0=3", ((64, 56, 56),)),
    ]


_INT8 = "0=128 1=3 4=1 5=1 6=147456 8=2"
_DECONV = "0=64 1=4 3=2 4=1 5=1 6=65536"


def measure(case: Case, folder: Path, threads: int, rounds: int, level: int) -> Result:
    """Run the network of a case."""
    path = folder / "kernel.param"
    path.write_text(case.text())
    found = bench(path, opt_level=level, num_threads=threads, random_weights=1, rounds=rounds)
    cost = reduce(StepCost.plus, (part for part in found.layers if KERNEL in part.layers))
    return Result(
        case.name,
        cost.ms,
        1e-6 * (cost.flops or 0) / cost.ms,
        cost.arithmetic_ms / cost.ms,
        1e-6 * cost.bytes / cost.ms,
        cost.memory_ms / cost.ms,
        cost.bound,
        cost.bound_ms / cost.ms,
        cost.ms * found.roofline.gigaflops,
    )


def line(result: Result, before: Result | None) -> str:
    """A row of the table; how the time stands to that of an earlier run."""
    shares = f"{result.of_peak:8.0%} {result.gbytes:8.1f} {result.of_bandwidth:8.0%}"
    text = f"{result.name:40} {1e3 * result.ms:9.1f} {result.gflops:8.1f} {shares}"
    text += f" {result.bound:>8} {result.of_bound:8.0%}"
    return text if before is None else f"{text} {result.turns / before.turns:7.2f} x"


HEAD = (
    f"{'kernel':40} {'us':>9} {'GFLOP/s':>8} {'of peak':>8} {'GB/s':>8} {'of that':>8} "
    f"{'bound':>8} {'of bound':>8}"
)


def main() -> int:
    """Measure what is asked for, show it, and compare it with an earlier run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("only", nargs="?", default="", help="a part of the names to run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--level", type=int, default=2, help="of optimization (2)")
    parser.add_argument("--rounds", type=int, default=10, help="more are surer")
    parser.add_argument("--json", action="store_true", help="a list of results instead of a table")
    parser.add_argument("--against", type=Path, help="the JSON of an earlier run")
    parser.add_argument(
        "--worse", type=float, default=15.0, help="percent from which on it is slower (15)"
    )
    chosen = parser.parse_args()
    earlier = json.loads(chosen.against.read_text()) if chosen.against else []
    before = {result["name"]: Result(**result) for result in earlier}
    wanted = [case for case in cases() if chosen.only in case.name]
    if not wanted:
        parser.error(f"no kernel has {chosen.only!r} in its name")
    results = []
    if not chosen.json:
        print(HEAD + (" against before" if before else ""))
    with tempfile.TemporaryDirectory() as folder:
        for case in wanted:
            results.append(measure(case, Path(folder), chosen.threads, chosen.rounds, chosen.level))
            if not chosen.json:
                print(line(results[-1], before.get(case.name)), flush=True)
    if chosen.json:
        print(json.dumps([asdict(result) for result in results], indent=1))
    limit = 1 + chosen.worse / 100
    slower = [
        result.name
        for result in results
        if result.name in before and result.turns > limit * before[result.name].turns
    ]
    for name in slower:
        print(f"slower than before: {name}", file=sys.stderr)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
