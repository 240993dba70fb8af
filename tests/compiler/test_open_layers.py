"""Each layer of open extents: right for every size, or refused by name."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.ncnn.convert_to_linalg import ConvertNcnnToLinalg
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.dialects.ncnn.network import Network
from ncc.dialects.size import Size, assuming
from tests.crossed import in_turn
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

RIGHT = [
    "ReLU 0=0.1",
    "AbsVal",
    "ArgMax 1=2",
    "ArgMax 0=1 1=1",
    "BinaryOp 0=2 1=1 2=0.5",
    "BNLL",
    "Clip 0=-0.5 1=0.5",
    "Convolution 0=8 1=3 2=2 3=2 4=2 5=1 6=288",
    "Convolution 0=8 1=5 3=2 4=-233 6=800",
    "Convolution 0=8 1=3 4=-234 6=288",
    "ConvolutionDepthWise 0=4 1=3 3=2 4=1 6=36 7=4",
    "Deconvolution 0=8 1=4 3=2 4=1 6=512",
    "Deconvolution 0=8 1=3 3=2 4=-233 6=288",
    "Deconvolution 0=8 1=5 3=3 4=2 6=800 18=1 19=1",
    "DeconvolutionDepthWise 0=4 1=3 3=2 6=36 7=4",
    "Crop 0=1 1=2 3=-233 4=-233 5=-233 6=1 7=1",
    "Crop 3=-233 4=3 5=-233",
    "ELU",
    "Exp",
    "Flatten",
    "Flip -23300=1,2",
    "Flip -23300=2,0,2",
    "GroupNorm 0=2 1=4",
    "HardSwish",
    "InstanceNorm 0=4",
    "Interp 0=1 1=2.0 2=4.0",
    "Interp 0=1 1=0.5 2=0.75",
    "Interp 0=1 1=3.0 2=5.0",
    "Interp 0=2 1=2.0 2=2.0",
    "Interp 0=2 1=0.25 2=1.5 6=1",
    "Interp 0=3 1=2.0 2=0.5",
    "Interp 0=1 3=8 4=7",
    "Interp 0=2 3=8 4=7",
    "Interp 0=3 3=8 4=7",
    "Interp 0=2 3=1 4=7 6=1",
    "Interp 0=2 1=1.0 2=1.0",
    "LRN 1=3",
    "LRN 0=1 1=3",
    "MVN",
    "Normalize 1=1 4=0 3=4",
    "Padding 0=1 1=2 2=3 3=4 5=0.5",
    "Padding 0=1 1=2 2=0 3=3 4=1",
    "Padding 0=1 1=2 2=0 3=3 4=2",
    "Padding 0=1 1=2 2=0 3=3 6=4",
    "Permute 0=3",
    "Permute 0=5",
    "PixelShuffle 0=2",
    "PReLU 0=4",
    "Pooling 0=0 1=3 2=2",
    "Pooling 0=0 1=3 2=2 3=1 5=1",
    "Pooling 0=1 1=2 2=2 5=1",
    "Pooling 0=1 1=3 2=3 3=0 13=1 5=1",
    "Pooling 0=1 1=5 2=3",
    "Pooling 0=1 1=5 2=3 6=1",
    "Pooling 0=0 1=7 2=3 3=1",
    "Pooling 0=1 1=3 2=2 3=1",
    "Pooling 0=1 1=3 2=2 3=1 5=1 6=1",
    "Pooling 0=1 1=2 2=2 5=2",
    "Pooling 0=1 4=1",
    "Pooling 0=1 7=1 8=1",
    "Pooling 0=0 7=1 8=1 18=2",
    "Pooling 0=1 7=1 8=3 18=5",
    "Pooling 0=0 7=1 8=3 18=-233",
    "Pooling 0=0 4=1",
    "Reduction 0=3 1=1",
    "Reduction 0=3 1=0 -23303=2,1,2 4=1 5=1",
    "Reduction 0=4 1=0 -23303=1,0 5=1",
    "Reorg 0=2",
    "Reshape 0=-1 1=4",
    "Reshape 0=0 1=-1 2=2",
    'Reshape 6="//(0w,2),*(0h,2),0c"',
    'Reshape 6="//(0w,2),-1,0c"',
    "RMSNorm 0=6 1=0.001 2=0",
    "Scale 0=4 1=1",
    "ShuffleChannel 0=2",
    "Sigmoid",
    "Slice -23300=2,2,-233 1=0",
    "Softmax 0=0 1=1",
    "Softmax 0=2 1=1",
    "StatisticsPooling 0=1",
    "Swish",
    "TanH",
    "Tile 0=1 1=3",
    "Unfold 1=3 4=1",
    "UnaryOp 0=5",
]
"""Layers that take (4, h, w)."""

PRIORS = """7767517
4 5
Input data 0 1 data
Split s 1 2 data image again
Pooling p 1 1 again p 0=0 1=4 2=4 5=1
PriorBox it 2 1 p image y 0=60,90 1=100,150 -23302=2,2.0,3.0 9=-233 10=-233 13=0.5 {}
"""


def lowered(path: Path, line: str, *shape: int) -> Compilation:
    """The layer in linalg, as the module of a compilation."""
    name, _, params = line.partition(" ")
    outputs = "y z" if name == "Slice" else "y"
    counts = f"2 {len(outputs.split()) + 1}"
    head = f"7767517\n{counts}\nInput data 0 1 x\n"
    return network(path, f"{head}{name} it 1 {len(outputs.split())} x {outputs} {params}\n", *shape)


def network(path: Path, text: str, *shape: int) -> Compilation:
    """The same of a network."""
    path.write_text(text)
    options = Options.of(opt_level=0, target="avx2", random_weights=1)
    found = Compilation(path, None, options)
    infer_shapes(found.source, dict.fromkeys(Network.of(found.source).inputs, shape))
    ConvertNcnnToLinalg().apply(found.context, found.source)
    return found


def _open(channels: int, height: int, width: int) -> tuple[int, ...]:
    return channels, Size.symbol("h", height), Size.symbol("w", width)


@pytest.mark.parametrize("line", in_turn(RIGHT, every=2))
def test_a_layer_of_open_extents_is_right_for_every_size(tmp_path: Path, line: str) -> None:
    """What it makes, and its shape, are those of the layer at that size."""
    path, random, met = tmp_path / "net.param", Random(1), 0
    with assuming() as assumed:
        module = lowered(path, line, *_open(4, 14, 20)).source
    sizes = [(1, 1), (1, 2), (2, 5), (random.randint(1, 12), random.randint(1, 12))]
    for height, width in [*sizes, (14, 20)]:
        at = {"h": height, "w": width}
        if not all(one.holds(one.form.value(at)) for one in assumed):
            continue
        met += 1
        shape = (4, at["h"], at["w"])
        x = np.random.default_rng(met).standard_normal(shape, np.float32)
        wanted = evaluate(network_of(lowered(path, line, *shape).source), [x])
        found = evaluate(network_of(with_extents(module, at)), [x])
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    assert met


def test_a_layer_whose_tables_depend_on_the_size_is_refused(tmp_path: Path) -> None:
    """By its name."""
    path, line = tmp_path / "net.param", "SPP 0=0 1=2"
    with pytest.raises(Unsupported, match="layer 'it'"), assuming():
        lowered(path, line, 5, Size.symbol("rows", 20), 20)
    lowered(path, line, 5, 20, 20)


MXNET = """7767517
3 3
Input data 0 1 data
Pooling p 1 1 data p 0=0 1=4 2=4 5=1
PriorBox it 1 1 p y -23300=2,0.2,0.3 -23302=2,1.0,2.0 9=-233 10=-233 13=0.5 {}
"""


@pytest.mark.parametrize(
    ("text", "params"),
    [
        (PRIORS, ""),
        (PRIORS, "8=1 11=16 12=16"),
        (PRIORS, "7=0 15=1"),
        (PRIORS, "14=1 15=1"),
        (MXNET, ""),
        (MXNET, "8=1 11=0.1 14=1 15=1"),
    ],
)
def test_boxes_of_cells_are_those_of_the_table(tmp_path: Path, text: str, params: str) -> None:
    """But for rounding: a table is made in float64."""
    path, text = tmp_path / "net.param", text.format(params)
    with assuming():
        module = network(path, text, *_open(3, 24, 40)).source
    for height, width in ((24, 40), (31, 18), (5, 4)):
        x = np.zeros((3, height, width), np.float32)
        (wanted,) = evaluate(network_of(network(path, text, *x.shape).source), [x])
        (found,) = evaluate(network_of(with_extents(module, {"h": height, "w": width})), [x])
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
