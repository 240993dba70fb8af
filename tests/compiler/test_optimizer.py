"""ncc.optimize: files in, smaller files with the same results out, or an error and no files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.optimizer import optimize, optimize_network
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.interpret import interpret
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError

LINES = """
Input data 0 1 data 0=8 1=8 2=3
Dropout drop 1 1 data drop
Convolution conv 1 1 drop conv 0=4 1=3 6=108
BatchNorm norm 1 1 conv norm 0=4 1=0.001
ReLU relu 1 1 norm relu
Split split 1 3 relu relu_0 relu_1 tap
Sigmoid gate 1 1 relu_0 gate
BinaryOp times 2 1 gate relu_1 times 0=2
Pooling pool 1 1 times pool 0=1 4=1
Flatten flat 1 1 pool flat
InnerProduct fc 1 1 flat prob 0=2 1=1 2=8
"""


@pytest.fixture
def net(tmp_path: Path) -> Path:
    """net.param and net.bin."""
    return network(tmp_path, LINES)


def network(folder: Path, text: str) -> Path:
    lines = text.strip().splitlines()
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 30", *lines, ""]))
    write(read(path, random_weights=1).module, path, path.with_suffix(".bin"))
    return path


def image(seed: int = 0) -> dict[str, np.ndarray]:
    return {"data": np.random.default_rng(seed).standard_normal((3, 8, 8), np.float32)}


def outputs(folder: Path) -> tuple[Path, Path]:
    return folder / "out.param", folder / "out.bin"


def test_the_results_are_the_same(net: Path, tmp_path: Path) -> None:
    """By the layers' references, under the same names, in fewer layers."""
    report = ncc.optimize(net, net.with_suffix(".bin"), *outputs(tmp_path))
    assert report.after.layers < report.before.layers == 11
    assert report.written is not None and report.written.layers == report.after.layers
    assert {"fuse_convolution_batchnorm", "eliminate_dropout"} <= {
        r.pattern for r in report.rewrites
    }
    old, new = read(net).module, read(tmp_path / "out.param").module
    infer_shapes(old)
    infer_shapes(new)
    assert list(Network.of(new).inputs) == ["data"]
    assert set(Network.of(new).outputs) == {"tap", "prob"}
    expected, found = interpret(old, image()), interpret(new, image())
    for name in expected:
        assert np.allclose(found[name], expected[name], atol=1e-5)


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
def test_ncnn_computes_the_same(net: Path, tmp_path: Path) -> None:
    """In fp32, and within what halves lose."""
    files = net, net.with_suffix(".bin")
    optimize(*files, *outputs(tmp_path))
    optimize(*files, tmp_path / "half.param", tmp_path / "half.bin", fp16=True)
    assert (tmp_path / "half.bin").stat().st_size < (tmp_path / "out.bin").stat().st_size
    jobs = [
        oracle.Job(param, param.with_suffix(".bin"), image(), ["prob", "tap"])
        for param in (net, tmp_path / "out.param", tmp_path / "half.param")
    ]
    old, new, half = oracle.run_all(jobs)
    for found, tolerance in ((new, 1e-5), (half, 1e-2)):
        assert not isinstance(found, oracle.OracleError) and not isinstance(old, oracle.OracleError)
        for name, array in old.items():
            assert np.allclose(found[name], array, atol=tolerance)


def test_a_second_run_changes_nothing(net: Path, tmp_path: Path) -> None:
    """The same text, the same bytes, and no rewrite but Splits that come and go."""
    optimize(net, net.with_suffix(".bin"), *outputs(tmp_path))
    again = tmp_path / "again.param", tmp_path / "again.bin"
    report = optimize(*outputs(tmp_path), *again)
    assert list(report.lines())[0].startswith("layers")
    for first, second in zip(outputs(tmp_path), again, strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_in_place(net: Path, tmp_path: Path) -> None:
    """A network may be replaced by its optimized self."""
    files = net, net.with_suffix(".bin")
    optimize(*files, *outputs(tmp_path))
    optimize(*files, *files)
    for first, second in zip(files, outputs(tmp_path), strict=True):
        assert first.read_bytes() == second.read_bytes()


def test_off_and_keep(net: Path, tmp_path: Path) -> None:
    """A pass that must not fire, and a blob that somebody extracts."""
    files = net, net.with_suffix(".bin")
    report = optimize(*files, *outputs(tmp_path), off="eliminate_dropout")
    assert "Dropout" in (tmp_path / "out.param").read_text()
    assert all(rewrite.pattern != "eliminate_dropout" for rewrite in report.rewrites)
    optimize(*files, *outputs(tmp_path), keep=["norm"])
    kept = read(tmp_path / "out.param").module
    original = read(net).module
    infer_shapes(kept)
    infer_shapes(original)
    value = interpret(kept, image(), ["norm"])["norm"]
    assert np.allclose(value, interpret(original, image(), ["norm"])["norm"], atol=1e-5)


def test_rewrites_are_tried(net: Path, tmp_path: Path) -> None:
    """None of ours is refused, and the result is the same as without."""
    files = net, net.with_suffix(".bin")
    report = optimize(*files, *outputs(tmp_path), verify_rewrites=True)
    assert report.refusals == ()
    tried = [path.read_bytes() for path in outputs(tmp_path)]
    optimize(*files, *outputs(tmp_path))
    assert [path.read_bytes() for path in outputs(tmp_path)] == tried


def test_a_rewrite_that_changes_results_is_refused(
    net: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And told, while the network stays as it was there."""
    monkeypatch.setattr(
        "ncc.compiler.optimizer.refuse_changed_results", lambda pattern, layers: "it changes all"
    )
    report = optimize(net, net.with_suffix(".bin"), *outputs(tmp_path), verify_rewrites=True)
    assert report.rewrites == ()
    assert "eliminate_dropout drop refused: it changes all" in map(str, report.refusals)
    assert len(report.refusals) == len(set(report.refusals))


def test_a_dry_run_writes_nothing(net: Path, tmp_path: Path) -> None:
    """And reports the same."""
    files = net, net.with_suffix(".bin")
    dry = optimize(*files, *outputs(tmp_path), dry_run=True)
    assert dry.written is None and not list(tmp_path.glob("out*"))
    assert dry.rewrites == optimize(*files, *outputs(tmp_path)).rewrites


def test_random_weights(net: Path, tmp_path: Path) -> None:
    """As ncnnoptimize makes them for a .bin called null; the same each time."""
    net.with_suffix(".bin").unlink()
    optimize(net, "null", *outputs(tmp_path))
    first = [path.read_bytes() for path in outputs(tmp_path)]
    optimize(net, "null", *outputs(tmp_path))
    assert [path.read_bytes() for path in outputs(tmp_path)] == first


def test_a_cut(net: Path, tmp_path: Path) -> None:
    """Counts fit the file, and what the cut needs becomes an input."""
    optimize(net, None, *outputs(tmp_path), start="norm", end="pool")
    cut = read(tmp_path / "out.param")
    assert not cut.warnings
    assert list(Network.of(cut.module).inputs) == ["conv"]
    assert set(Network.of(cut.module).outputs) == {"tap", "pool"}


def test_heads_that_a_noop_collects_stay(tmp_path: Path) -> None:
    """Who runs the network extracts each by its name."""
    text = """
        Input data 0 1 data 0=8
        Split split 1 2 data d0 d1
        AbsVal one 1 1 d0 one
        TanH two 1 1 d1 two
        Noop all 2 1 one two all
    """
    net = network(tmp_path, "\n".join(line.strip() for line in text.strip().splitlines()))
    optimize(net, None, *outputs(tmp_path))
    module = Network.of(read(tmp_path / "out.param").module)
    assert set(module.outputs) == {"all", "two"} and len(module.layers) == 4


def test_shapes_that_nobody_says(tmp_path: Path) -> None:
    """A warning; they can be told, as inputs are."""
    lines = ["Input data 0 1 data", "Pooling pool 1 1 data pool 1=1", "AbsVal abs 1 1 pool abs"]
    net = network(tmp_path, "\n".join(lines))
    report = optimize(net, None, *outputs(tmp_path))
    assert report.warnings and report.after.layers == 3
    assert report.after.multiply_adds is None
    known = optimize(net, None, *outputs(tmp_path), input_shapes={"data": (3, 4, 4)})
    assert not known.warnings and known.after.layers == 2
    assert "data -23330=5,3,4,4,1,3 0=4 1=4 2=3\n" in (tmp_path / "out.param").read_text()


def test_shapes_that_contradict(tmp_path: Path) -> None:
    """A warning too, for a caller may feed others; then no shape is told to ncnn."""
    lines = ["Input data 0 1 data 0=8 1=8 2=3", "Convolution conv 1 1 data conv 0=4 1=3 6=36"]
    net = network(tmp_path, "\n".join(lines))
    report = optimize(net, None, *outputs(tmp_path))
    assert len(report.warnings) == 1 and "'conv'" in report.warnings[0]
    assert "-23330" not in (tmp_path / "out.param").read_text()


@pytest.mark.parametrize("text", ["", "7767517\n1 2\nReLU relu 1 1 nobody out\n", "7767516\n1 1\n"])
def test_malformed_files(tmp_path: Path, text: str) -> None:
    """ncnnoptimize writes a file of nothing and says that all is well."""
    (tmp_path / "net.param").write_text(text)
    with pytest.raises(ModelError):
        optimize(tmp_path / "net.param", "null", *outputs(tmp_path))
    assert not list(tmp_path.glob("out*"))


def test_missing_and_short_files(net: Path, tmp_path: Path) -> None:
    """Each with its name."""
    with pytest.raises(ModelError, match="nowhere.param"):
        optimize(tmp_path / "nowhere.param", None, *outputs(tmp_path))
    with pytest.raises(ModelError, match="nowhere.bin"):
        optimize(net, tmp_path / "nowhere.bin", *outputs(tmp_path))
    weights = net.with_suffix(".bin")
    weights.write_bytes(weights.read_bytes()[:-4])
    with pytest.raises(ModelError, match="ends within weight"):
        optimize(net, weights, *outputs(tmp_path))
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "options",
    [
        {"off": ["no_such_pass"]},
        {"keep": ["no_such_blob"]},
        {"start": "no_such_layer"},
        {"input_shapes": {"no_such_input": (1,)}},
    ],
)
def test_names_that_there_are_not(net: Path, tmp_path: Path, options: dict[str, object]) -> None:
    """Told with what there is; nothing is written."""
    with pytest.raises(InputError, match="no_such"):
        optimize(net, None, *outputs(tmp_path), **options)  # type: ignore[arg-type]
    assert not list(tmp_path.glob("out*"))


def test_what_is_done_is_seen_in_ir(net: Path) -> None:
    """The network before and after."""
    done = optimize_network(net)
    before, after = Network.of(done.original).layers, Network.of(done.module).layers
    assert [op.layer_name for op in before][:3] == ["data", "drop", "conv"]
    assert "drop" not in [op.layer_name for op in after]


@pytest.mark.parametrize(
    "wrong",
    [
        {"off": 1},
        {"off": ["no_such_pass"]},
        {"keep": 1},
        {"start": 1},
        {"verify_rewrites": "no"},
        {"end": ["relu"]},
        {"input_shapes": (3, 8, 8)},
        {"input_shapes": {"data": "3x8x8"}},
        {"input_shapes": {"data": (1, 1, 3, 8, 8)}},
    ],
    ids=str,
)
def test_choices_of_another_type_are_refused(net: Path, wrong: dict[str, Any]) -> None:
    """By an error that says what is wanted."""
    with pytest.raises(InputError, match="expected|no pass"):
        optimize_network(net, **wrong)
