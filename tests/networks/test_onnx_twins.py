"""The benchmark networks have the kernels of their .param when they come as .onnx, so that they are
as fast.
"""

from __future__ import annotations

import importlib
import sys
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest

from ncc.compiler.loops.kernel.kernel_text import kernel_text
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.pipeline import kernels_of
from tests.networks.conftest import SHARED, names

pytestmark = pytest.mark.sweep

WRITTEN_OUT = {"vision_transformer"}
"""Networks with layers that ONNX has no operator for: the attention of the file is many nodes."""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The scripts that make weights and write an .onnx of a .param."""
    if not (SHARED / "bench").is_dir():
        pytest.skip("there is no ../shared/bench beside the checkout")
    monkeypatch.setenv("NCC_BENCH_DATA", str(tmp_path))
    monkeypatch.syspath_prepend(str(SHARED / "bench"))
    made = [importlib.import_module(name) for name in ("ncnnmodel", "make_bin", "ncnn2onnx")]
    yield made
    for name in ("ncnnmodel", "make_bin", "ncnn2onnx"):
        del sys.modules[name]


def plan(path: str, bin: str | None, **options: Any) -> tuple[int, Counter[str]]:
    """How many steps a network has, and its kernels with their schedules, without names."""
    loops = kernels_of(path, bin, target="avx512vnni", **options).loops
    written = [unit.scheduled for unit in loops.units if unit.scheduled is not None]
    texts = (f"{kernel_text(one.kernel)}\n{schedule_text(one.schedule)}" for one in written)
    return len(loops.steps), Counter(texts)


@pytest.mark.parametrize("name", [name for name in names() if name not in WRITTEN_OUT])
def test_the_kernels_are_the_same(name: str, bench: Any, tmp_path: Path) -> None:
    """Whichever file they come from."""
    models, weights, converter = bench
    first = models.parse_param(models.param_path(name))[0]
    models.MODELS.setdefault(name, tuple(first.get(axis, 0) for axis in range(3)))
    layers, inputs, outputs = models.load_model(name)
    arrays = weights.random_weights(layers, zlib.crc32(name.encode()))
    weights.write_bin(models.bin_path(name), layers, arrays)
    made = converter.Converter(layers, inputs, outputs, arrays).convert(check=False)
    onnx.save(made, models.onnx_path(name))
    asked = {"input_shapes": inputs, "outputs": tuple(outputs)}
    of_param = plan(models.param_path(name), models.bin_path(name), **asked)
    assert plan(models.onnx_path(name), None) == of_param
