"""Networks from the lines of a .param file, and the check that optimizing changes no number.

def test_it(net, optimized):
    module = net('''
        Input         x     0 1 x      0=5 1=4 2=3
        Convolution   conv  1 1 x c    0=6 1=3 6=162
        ReLU          relu  1 1 c y
    ''')
    assert optimized(module) == ["fuse_convolution_activation"]
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.ncnn.check_rewrites import require_equal_results
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.layer import WeightAttr, shape_of
from ncc.dialects.ncnn.network import Network

Net = Callable[..., ModuleOp]
Optimized = Callable[..., list[str]]


@pytest.fixture
def net(tmp_path: Path) -> Net:
    """net(lines, weights=..., shapes=True): a network; weights by `layer.weight`, others random."""

    def make(
        lines: str,
        weights: dict[str, object] | None = None,
        *,
        shapes: bool = True,
        outputs: list[str] | None = None,
    ) -> ModuleOp:
        body = [line.strip() for line in lines.splitlines() if line.strip()]
        counts = [line.split()[2:4] for line in body]
        blobs = sum(int(made) for _, made in counts)
        path = tmp_path / "net.param"
        path.write_text("\n".join(["7767517", f"{len(body)} {blobs}", *body, ""]))
        module = read(path, None, random_weights=7, outputs=outputs).module
        layers = {layer.layer_name: layer for layer in Network.of(module).layers}
        for place, values in (weights or {}).items():
            name, weight = place.split(".")
            held = layers[name].properties[weight]
            assert isinstance(held, WeightAttr)
            array = np.broadcast_to(np.asarray(values, np.float32), held.shape)
            layers[name].properties[weight] = WeightAttr.of(array)
        if shapes:
            infer_shapes(module)
        return module

    return make


@pytest.fixture
def optimized() -> Optimized:
    """optimized(module): optimize it, and hold the numbers; the patterns that fired, in order."""

    def check(
        module: ModuleOp,
        *,
        off: Collection[str] = (),
        keep: Collection[str] = (),
        tolerance: float = 1e-5,
    ) -> list[str]:
        network = Network.of(module)
        generator = np.random.default_rng(1)
        ranked = all(shape_of(value) is not None for value in network.inputs.values())
        feeds = {
            name: generator.standard_normal(shape_of(value) or (1,)).astype(np.float32)
            for name, value in network.inputs.items()
        }
        before = interpret(module, feeds) if ranked else {}
        rewrites = optimize_module(module, off=off, keep=keep, check=require)
        module.verify()
        after = interpret(module, feeds) if ranked else {}
        assert list(network.inputs) == list(feeds)
        for name, array in before.items():
            assert after[name].shape == array.shape, name
            bound = tolerance * max(1.0, float(np.abs(array).max()))
            np.testing.assert_allclose(after[name], array, rtol=0, atol=bound)
        assert not optimize_module(module, off=off, keep=keep), "a second run changes something"
        return [rewrite.pattern for rewrite in rewrites]

    def require(pattern: LayerPattern, layers: Match) -> None:
        require_equal_results(pattern, layers)

    return check
