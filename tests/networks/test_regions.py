"""What a run finds on its way through a network: to several outputs, and into other layers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.interpret import interpret
from ncc.compiler.verification.verify import verify
from tests.runnable import ESTIMATES

Array = np.ndarray[Any, Any]

NETWORK = """7767517
14 21
Input data 0 1 data 0=64 1=64 2=3
Input im_info 0 1 im_info 0=3
Convolution c 1 1 data c 0=16 1=3 3=16 4=1 5=1 6=432 9=1
Split s 1 2 c c1 c2
Convolution d 1 1 c1 d 0=16 1=3 4=1 5=1 6=2304 9=1
Split t 1 2 d d1 d2
Convolution sc 1 1 d1 sc 0=18 1=1 5=1 6=288
Sigmoid sg 1 1 sc sg
Convolution mv 1 1 d2 mv 0=36 1=1 5=1 6=576
Proposal prop 3 2 sg mv im_info rois scores 0=16 1=2 2=60 3=12 4=0.7 5=2
Split u 1 3 rois rois1 rois2 rois3
ROIPooling p 2 1 c2 rois1 p 0=3 1=3 2=0.0625
InnerProduct fc 1 1 p fc 0=5 1=1 2=720
Softmax sm 1 1 fc prob
"""
"""A network of two stages, as Faster R-CNN: what is proposed is an output (twice), and its first
region is pooled."""

WAYS = [(0, 1, "host"), (1, 1, "avx2"), (2, 2, "host"), (2, 1, "baseline")]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("regions") / "net.param"
    path.write_text(NETWORK)
    return path


def feeds(scale: float) -> dict[str, Array]:
    image = np.random.default_rng(5).standard_normal((3, 64, 64), dtype=np.float32)
    return {"data": image, "im_info": np.array([64, 64, scale], np.float32)}


def reference(network: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    module = read(network, random_weights=1).module
    infer_shapes(module)
    return interpret(module, inputs)


@pytest.mark.parametrize(("level", "threads", "target"), WAYS)
def test_regions_are_outputs_and_inputs(
    level: int, threads: int, target: str, network: Path
) -> None:
    """One model: an image with regions, an image without, and one with regions again."""
    model = ncc.compile(
        network, random_weights=1, opt_level=level, num_threads=threads, target=target
    )
    for scale, rows in ((1, 12), (100, 0), (4, 12)):
        inputs = feeds(scale)
        expected = reference(network, inputs)
        found = model.run(inputs)
        assert found["rois2"].shape == found["rois3"].shape == (rows, 1, 4)
        assert found["scores"].shape == (rows, 1, 1)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4, err_msg=name)


def test_ncnn_finds_the_same(network: Path, tmp_path: Path) -> None:
    """The first region alone is pooled, here and there."""
    if not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    if not ESTIMATES:
        pytest.skip("this CPU estimates other reciprocals, so that ncnn pools other bins")
    ncc.optimize(network, "null", tmp_path / "net.param", tmp_path / "net.bin", off=[])
    inputs = feeds(1)
    expected = oracle.run(tmp_path / "net.param", tmp_path / "net.bin", inputs)
    found = ncc.compile(tmp_path / "net.param", tmp_path / "net.bin").run(inputs)
    for name, array in found.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-3, atol=1e-3, err_msg=name)


def test_it_is_verified_blob_by_blob(network: Path) -> None:
    """What is found is judged by what it was found in; what is made of it, by what was found."""
    report = verify(network, random_weights=1, feeds=feeds(1))
    assert report.first is None
    proposed = next(row for row in report.rows if row.blob == "rois")
    assert proposed.shape == (12, 1, 4)


def test_the_stages_can_be_run_apart(network: Path) -> None:
    """The regions asked for alone: nothing behind them is compiled."""
    model = ncc.compile(network, random_weights=1, outputs=["c", "rois"])
    expected = reference(network, feeds(1))
    found = model.run(feeds(1))
    assert found["c"].shape == (16, 4, 4)
    np.testing.assert_allclose(found["rois"], expected["rois2"], rtol=1e-4, atol=1e-4)


def test_every_region_can_be_fed_to_the_second_stage(network: Path) -> None:
    """The map and one region at a time, as programs do that ncnn runs."""
    first = ncc.compile(network, random_weights=1, outputs=["c", "rois"]).run(feeds(1))
    shapes = {"c": (16, 4, 4), "rois": (1, 4)}
    options: dict[str, Any] = {"random_weights": 1, "outputs": ["prob"]}
    second = ncc.compile(network, input_shapes=shapes, **options)
    assert [binding.name for binding in second.inputs] == ["c", "rois"]
    found = [second.run({"c": first["c"], "rois": rois})["prob"] for rois in first["rois"]]
    np.testing.assert_allclose(found[0], reference(network, feeds(1))["prob"], atol=1e-5)
    assert len({tuple(prob.tolist()) for prob in found}) > 1


def test_layers_across_rows_cannot_read_what_the_run_counts(network: Path) -> None:
    """It is said which layer, and what to ask for instead."""
    text = NETWORK.replace("Softmax sm 1 1 fc prob", "Softmax sm 1 1 rois3 prob 0=0 1=1")
    path = network.with_name("softmax.param")
    path.write_text(text)
    with pytest.raises(Unsupported, match="layer 'sm' on line 16.*only the run knows") as caught:
        ncc.compile(path, random_weights=1)
    assert caught.value.how == "let the network end there: ask for that value as an output"


def test_candidates_may_be_more_than_the_stack_holds(tmp_path: Path) -> None:
    """A map of 135x240 has 291600, which take 10 MB of scratch memory."""
    path = tmp_path / "net.param"
    path.write_text(
        """7767517
5 5
Input scores 0 1 scores 0=240 1=135 2=18
Input moves 0 1 moves 0=240 1=135 2=36
Input im_info 0 1 im_info 0=3
Proposal prop 3 1 scores moves im_info rois 2=100 3=10
ROIAlign align 2 1 scores rois out 0=2 1=2 2=0.0625
"""
    )
    rng = np.random.default_rng(2)
    inputs = {
        "scores": rng.random((18, 135, 240), dtype=np.float32),
        "moves": rng.normal(0, 0.1, (36, 135, 240)).astype(np.float32),
        "im_info": np.array([2160, 3840, 1], np.float32),
    }
    module = read(path).module
    infer_shapes(module)
    expected = interpret(module, inputs)["out"]
    found = ncc.compile(path, num_threads=2).run(inputs)["out"]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
