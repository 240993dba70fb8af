"""Layers of unknown types, handed on by `ncc optimize` as they stand in their files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.compiler.explain import fates
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.optimizer import optimize_network
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.layer import LAYERS as DECLARED
from ncc.dialects.ncnn.layer import (
    Layer,
    Weight,
    declare,
    integer,
    integers,
    real,
    shape_of,
    string,
)
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.opaque import OpaqueOp

LAYERS = """
Input data 0 1 data 0=6 1=5 2=4
Convolution conv1 1 1 data a 0=4 1=3 4=1 5=1 6=144
MyScale mine 1 1 a b {hints}0=+1 1=0.50e0 -23302=2,1,2 3="x y" 4=foo 5=1,2 31=1
Dropout drop 1 1 b c
Convolution conv2 1 1 c d 0=4 1=3 4=1 5=1 6=144
ReLU relu 1 1 d out
"""
WORDS = '0=+1 1=0.50e0 -23302=2,1,2 3="x y" 4=foo 5=1,2 31=1'
HINTS = "-23330=4,3,6,5,4 "

CONTENT = np.array([1.0, -2.0, 3.0, 0.5], "<f4").tobytes()


def network(folder: Path, hints: str = HINTS, content: bytes = CONTENT, layers: str = "") -> Path:
    """net.param and net.bin, whose convolutions have random weights."""
    lines = (layers or LAYERS.format(hints=hints)).strip().splitlines()
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 99", *lines, ""]))
    rng = np.random.default_rng(3)
    first, second = (bytes(4) + rng.normal(0, 0.2, 148).astype("<f4").tobytes() for _ in range(2))
    path.with_suffix(".bin").write_bytes(first + content + second)
    return path


def optimized(path: Path) -> tuple[str, bytes, ncc.OptimizeReport]:
    param, bin = path.with_name("out.param"), path.with_name("out.bin")
    report = ncc.optimize(path, path.with_suffix(".bin"), param, bin)
    return param.read_text(), bin.read_bytes(), report


def test_params_are_spelled_as_before_and_weights_stay_in_place(tmp_path: Path) -> None:
    """What stands on both sides is optimized: the Dropout goes, the ReLU into its Convolution."""
    path = network(tmp_path)
    text, weights, report = optimized(path)
    line = next(line for line in text.splitlines() if line.startswith("MyScale"))
    assert line.endswith(f"1 1 a b -23330=5,3,6,5,1,4 {WORDS}")
    assert weights == path.with_suffix(".bin").read_bytes()
    fired = {rewrite.pattern for rewrite in report.rewrites}
    assert fired == {"eliminate_dropout", "fuse_convolution_activation"}
    [warning] = report.warnings
    assert "net.param:5: warning: no layer type 'MyScale': handed on as it is" in warning


def test_shapes_behind_it_are_those_of_the_hints(tmp_path: Path) -> None:
    """Or unknown, which is told, and no hints are written there."""
    text, _, _ = optimized(network(tmp_path))
    assert text.count("-23330=5,3,6,5,1,4") == 4
    text, _, report = optimized(network(tmp_path, hints=""))
    assert text.count("-23330=5,3,6,5,1,4") == 2
    assert "shapes behind layer 'mine' (MyScale) on line 5 are not known" in report.warnings[1]


def test_hints_do_not_hold_for_other_inputs(tmp_path: Path) -> None:
    """A shape that is asked for makes those of the file stale."""
    module = read(network(tmp_path), opaque=True).module
    infer_shapes(module, {"data": (4, 9, 9)})
    layers = Network.of(module).layers
    assert shape_of(layers[1].results[0]) == (4, 9, 9)
    assert shape_of(layers[2].results[0]) is None


@pytest.mark.parametrize("content", [b"", bytes(400), b"\x47\x6b\x30\x01" * 3])
def test_any_bytes_are_kept(content: bytes, tmp_path: Path) -> None:
    """None, zeros that might be tags, tags."""
    path = network(tmp_path, content=content)
    _, weights, _ = optimized(path)
    assert weights == path.with_suffix(".bin").read_bytes()


def test_weights_that_cannot_be_told_apart(tmp_path: Path) -> None:
    """Two layers in a row: the first is pointed at, and how to go on is said."""
    layers = LAYERS.format(hints="").replace("Dropout drop", "MyScale more")
    path = network(tmp_path, layers=layers)
    with pytest.raises(ModelError, match="cannot be told; MyScale 'mine'") as caught:
        optimized(path)
    [problem] = caught.value.problems
    assert (problem.line, problem.found) == (5, "2 places that fit")
    assert problem.how is not None and "CONTRIBUTING.md" in problem.how
    assert not path.with_name("out.param").exists()


def test_a_class_with_weights_alone_tells_them_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the error asks for: params and weights; optimizing needs no more of a layer."""
    layers = LAYERS.format(hints="").replace("Dropout drop", "MyScale more")
    path = network(tmp_path, content=2 * CONTENT, layers=layers)

    class MyScaleOp(Layer):
        """y = x * (a value a channel) + offset, times sign."""

        sign, offset, pair = integer(0), real(1), integers(2)
        label, word, more = string(3), string(4), integers(5)

        factors = Weight(lambda op: (4,))

    declared = declare(MyScaleOp, "MyScale", (1, 1), (1, 1))
    monkeypatch.setitem(DECLARED, "MyScale", declared)
    text, weights, report = optimized(path)
    assert weights == path.with_suffix(".bin").read_bytes()
    assert 'mine                     1 1 a b 0=1 1=0.5 -23302=2,1,2 3="x y"' in text
    [warning] = report.warnings
    assert "layer 'mine' (MyScale): ncnn.MyScale has no shape rule" in warning


def test_layers_that_read_nothing_or_make_nothing_stay(tmp_path: Path) -> None:
    """Nobody knows what else they do."""
    layers = """
        Input data 0 1 data 0=4
        MySource source 0 1 s
        Split split 1 2 data d1 d2
        BinaryOp sum 2 1 d1 s out
        MySink sink 1 0 d2
    """
    lines = [line.strip() for line in layers.strip().splitlines()]
    path = network(tmp_path, content=b"", layers="\n".join(lines))
    path.with_suffix(".bin").write_bytes(b"")
    text, _, _ = optimized(path)
    assert [line.split()[0] for line in text.splitlines()[2:]] == [
        "Input", "Split", "MySource", "BinaryOp", "MySink",
    ]  # fmt: skip


def test_the_fate_of_an_unknown_layer_is_told(tmp_path: Path) -> None:
    """By its own type."""
    told = list(map(str, fates(optimize_network(network(tmp_path)))))
    assert "line 5: MyScale mine: as it was" in told


def test_nothing_but_optimize_takes_unknown_layers(tmp_path: Path) -> None:
    """There is nothing to compute them by."""
    with pytest.raises(ModelError, match="no layer type 'MyScale'"):
        ncc.compile(network(tmp_path))


def test_it_is_one_operation(tmp_path: Path) -> None:
    """Type, words, hints and weights are its attributes."""
    layer = Network.of(read(network(tmp_path), opaque=True).module).layers[2]
    assert isinstance(layer, OpaqueOp)
    assert layer.type_name == "MyScale" and layer.param_words[3] == '3="x y"'
    assert layer.hinted_shapes == [(4, 5, 6)]
    assert layer.content is not None and layer.content.array().tobytes() == CONTENT
    layer.verify()


RUN = '''
import json, sys
import ncnn
import numpy as np

class MyScale(ncnn.Layer):
    """y = x * (a value a channel) + param 1, times param 0."""

    def __init__(self):
        ncnn.Layer.__init__(self)
        self.one_blob_only = True

    def load_param(self, pd):
        self.sign, self.offset = pd.get(0, 0), pd.get(1, 0.0)
        return 0

    def load_model(self, mb):
        self.factors = np.array(mb.load(4, 1)).copy()
        return 0

    def forward(self, x, y, opt):
        found = (np.array(x) * self.factors[:, None, None] + self.offset) * self.sign
        y.clone_from(ncnn.Mat(np.ascontiguousarray(found, np.float32)).clone(), opt.blob_allocator)
        return 0

made = []
def create():
    made.append(MyScale())
    return made[-1]

net = ncnn.Net()
net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
net.opt.use_packing_layout = False
net.opt.num_threads = 1
net.register_custom_layer("MyScale", create, lambda layer: None)
assert net.load_param(sys.argv[1]) == 0 and net.load_model(sys.argv[2]) == 0
extractor = net.create_extractor()
data = np.linspace(-1, 1, 120, dtype=np.float32).reshape(4, 5, 6)
extractor.input("data", ncnn.Mat(data).clone())
status, out = extractor.extract("out")
print(json.dumps([status, np.array(out).ravel().tolist()]))
'''


def test_ncnn_runs_the_written_files_with_the_layer_registered(tmp_path: Path) -> None:
    """It gives what it gives for the files before."""
    if not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    path = network(tmp_path)
    optimized(path)
    results = []
    for param in (path, path.with_name("out.param")):
        command = [sys.executable, "-c", RUN, str(param), str(param.with_suffix(".bin"))]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
        status, values = json.loads(done.stdout)
        assert status == 0 and len(values) == 120
        results.append(values)
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-5)
    assert np.any(results[0])


MODELS = Path(__file__).parents[3] / "shared" / "models"


@pytest.mark.slow
@pytest.mark.parametrize("fp16", [False, True])
@pytest.mark.parametrize("name", ["squeezenet_v1.1", "mobilenet_v2", "resnet18"])
def test_one_layer_of_a_network_is_handed_on(name: str, fp16: bool, tmp_path: Path) -> None:
    """Under another name it keeps its weights, wherever it stands: the outputs are the same."""
    if not (MODELS / f"{name}.param").exists():
        pytest.skip("there is no ../shared/models beside the checkout")
    path, bin = tmp_path / "net.param", tmp_path / "net.bin"
    write(read(MODELS / f"{name}.param", random_weights=3).module, path, bin, fp16=fp16)
    lines = path.read_text().splitlines()
    weighted = [k for k, line in enumerate(lines) if line.startswith(("Convolution", "InnerP"))]
    model = ncc.compile(path, bin, opt_level=1)
    x = np.random.default_rng(0).standard_normal(model.inputs[0].shape, dtype=np.float32)
    for k in (weighted[1], weighted[len(weighted) // 2], weighted[-1]):
        path.write_text("\n".join([*lines[:k], f"My{lines[k]}", *lines[k + 1 :], ""]))
        text, _, report = optimized(path)
        assert report.rewrites and "\nMy" in text
        path.with_name("out.param").write_text(text.replace("\nMy", "\n"))
        again = ncc.compile(path.with_name("out.param"), opt_level=1)
        np.testing.assert_allclose(again(x), model(x), rtol=1e-3, atol=1e-4)
