"""The benchmark networks of ../shared/models, their weights, and what ncnn computes from them.

    @pytest.mark.networks(quick=["squeezenet_v1.1"], slow=["resnet18"])
    def test_it(network): ...

`network` runs over all fp32 networks: by default those named as quick, with `-m slow` those named
as slow (all, unless some are named), and with `-m sweep` the rest.

    def test_it(random_network):
        network = random_network(seed)          # see random_network.py, random_blocks.py
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from ncc.compiler.read.read_network import read_graph
from ncc.compiler.verification import oracle

Array: TypeAlias = NDArray[Any]

SHARED = Path(__file__).parents[3] / "shared"
BENCH_DATA = Path(os.environ.get("NCC_BENCH_DATA", "~/.cache/ncc-bench")).expanduser()

# The files that do not say the shape of their input.
SHAPES = {"vision_transformer": (3, 384, 384)}

# Its softmax runs over an axis of length 1 and gives ones, whatever comes in.
OUTPUTS = {"vision_transformer": ("cls_score",)}

# A detection head jumps where two scores are equal but for rounding: its inputs are compared.
HEADS = ("DetectionOutput", "YoloDetectionOutput", "Yolov3DetectionOutput")


@dataclass(frozen=True)
class BenchmarkNetwork:
    """One network with weights and an input: what to compile, and what must come out.

    outputs: the blobs to compare; those that a detection head reads, for a network that ends in
    one. expected: their values by ncnn.
    """

    name: str
    param: Path
    bin: Path
    feeds: dict[str, Array]
    outputs: tuple[str, ...]
    expected: dict[str, Array]

    @property
    def input_shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: array.shape for name, array in self.feeds.items()}


def names() -> list[str]:
    params = (SHARED / "models").glob("*.param")
    return sorted(path.stem for path in params if not path.stem.endswith("_int8"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "networks(quick=(), slow=all): `network` runs over the benchmark networks"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("networks")
    if marker is None:
        return
    quick, slow = marker.kwargs.get("quick", ()), marker.kwargs.get("slow", names())

    def when(name: str) -> Any:
        return () if name in quick else pytest.mark.slow if name in slow else pytest.mark.sweep

    parameters = [pytest.param(name, id=name, marks=when(name)) for name in names()]
    metafunc.parametrize("network", parameters or ["none"], indirect=True)


@pytest.fixture(scope="session")
def made_weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for weights that this machine does not have yet."""
    return tmp_path_factory.mktemp("weights")


@pytest.fixture
def network(request: pytest.FixtureRequest, made_weights: Path) -> BenchmarkNetwork:
    """The benchmark network that the test is about."""
    if not (SHARED / "models").is_dir():
        pytest.skip("there is no ../shared/models beside the checkout")
    if not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    return _network(request.param, made_weights)


@cache
def _network(name: str, folder: Path) -> BenchmarkNetwork:
    param = SHARED / "models" / f"{name}.param"
    layers = read_graph(param).layers
    inputs = [record for record in layers if record.type.text == "Input"]
    generator = np.random.default_rng(zlib.crc32(b"input " + name.encode()))
    feeds = {}
    for record in inputs:
        stated = [int(record.params[id].values[0]) for id in (2, 1, 0) if id in record.params]
        shape = SHAPES.get(name) or tuple(stated)
        feeds[record.outputs[0].text] = generator.uniform(-1, 1, shape).astype(np.float32)
    last = layers[-1]
    if last.type.text in HEADS:
        outputs = tuple(blob.text for blob in last.inputs)
    else:
        read = {blob.text for record in layers for blob in record.inputs}
        made = [blob.text for record in layers for blob in record.outputs]
        outputs = OUTPUTS.get(name) or tuple(blob for blob in made if blob not in read)
    bin = _weights(name, param, folder)
    expected = oracle.run(param, bin, feeds, outputs)
    return BenchmarkNetwork(name, param, bin, feeds, outputs, expected)


def _weights(name: str, param: Path, folder: Path) -> Path:
    """Weights of the benchmarks, made where they are absent."""
    kept = BENCH_DATA / f"{name}.bin"
    if kept.exists():
        return kept
    made = folder / f"{name}.bin"
    script = SHARED / "bench" / "make_bin.py"
    subprocess.run(
        [sys.executable, str(script), "--param", str(param), "--bin", str(made)],
        check=True,
        capture_output=True,
        env={**os.environ, "NCC_BENCH_DATA": str(folder)},
    )
    return made


# --- random networks ------------------------------------------------------------------------


@pytest.fixture(scope="session")
def random_network() -> Callable[[int], Any]:
    """The network of a seed."""
    for module in ("random_growth", "random_motifs", "random_pairs", "random_network"):
        loaded = _load(module)
    made: Callable[[int], Any] = loaded.random_network
    return made


@pytest.fixture(scope="session")
def odd_network(random_network: Callable[[int], Any]) -> Callable[[int], Any]:
    """The network with odd params of a seed."""
    made: Callable[[int], Any] = _load("random_oddities").odd_network
    return made


@pytest.fixture(scope="session")
def random_blocks(random_network: Callable[[int], Any]) -> Callable[[int], Any]:
    """The blocks of a seed."""
    made: Callable[[int], Any] = _load("random_blocks").random_blocks
    return made


@pytest.fixture(scope="session")
def random_int8(random_network: Callable[[int], Any]) -> Callable[[int], Any]:
    """The exact network of int8 layers of a seed."""
    made: Callable[[int], Any] = _load("random_int8").random_int8
    return made


def _load(module: str) -> Any:
    """A module beside this file by the name that its neighbours import it by."""
    name = f"tests.networks.{module}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, Path(__file__).with_name(f"{module}.py")
        )
        if spec is None or spec.loader is None:
            raise ImportError(name)
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]
