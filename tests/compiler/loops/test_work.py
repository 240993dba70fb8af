"""The work of steps, counted by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.driver import compile as front
from ncc.compiler.loops.build_network import build
from ncc.compiler.loops.work import work_of
from ncc.compiler.options import Options
from ncc.compiler.plan import Plan
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.loops.rolled import rolled


def work(
    folder: Path, level: int, *lines: str, target: str = "host", num_threads: int = 1
) -> list[tuple[str, dict[str, Any]]]:
    """The steps of a network of these layers: the kind of kernel, and its work."""
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
    options = Options.of(
        opt_level=level, random_weights=1, timestamps=True, target=target, num_threads=num_threads
    )
    info = front.compile_with(path, None, options).artifact.info
    kinds = [kernel.rpartition("_")[0] for kernel, _ in info["steps"]]
    return list(zip(kinds, info["work"], strict=True))


def test_a_product_is_two_operations_a_weight(tmp_path: Path) -> None:
    """Sums start from the bias. Every weight, input and result is touched once."""
    (step,) = work(
        tmp_path,
        0,
        "Input data 0 1 data 0=32",
        "InnerProduct fc 1 1 data out 0=16 1=1 2=512",
    )
    assert step == (
        "contraction",
        {
            "flops": 2 * 16 * 32,
            "tile_flops": 0,
            "byte_flops": 0,
            "weight_bytes": 4 * (512 + 16),
            "read_bytes": 4 * 32,
            "written_bytes": 4 * 16,
        },
    )


@pytest.mark.parametrize("channels", [16, 20])
def test_half_filled_blocks_count_by_what_is_in_them(tmp_path: Path, channels: int) -> None:
    """20 channels in blocks of 16 are 20 channels of operations, at least in a reduction."""
    steps = work(
        tmp_path,
        2,
        f"Input data 0 1 data 0=6 1=6 2={channels}",
        f"Convolution conv 1 1 data out 0=32 1=1 6={32 * channels}",
    )
    flops = [step["flops"] for kind, step in steps if kind == "contraction"]
    assert sum(flops) == 2 * 36 * 32 * channels


@pytest.mark.parametrize(("channels", "counted"), [(24, 24), (20, 20), (18, 20), (28, 32)])
def test_a_block_that_splits_k_counts_by_its_inputs(
    tmp_path: Path, channels: int, counted: int
) -> None:
    """Two at a time for eight outputs, or four for four."""
    steps = work(
        tmp_path,
        2,
        "Input data 0 1 data 0=6 1=6 2=16",
        "Convolution a 1 1 data a 0=32 1=1 6=512",
        f"Convolution b 1 1 a b 0={channels} 1=1 6={32 * channels}",
        f"Convolution c 1 1 b out 0=16 1=1 6={16 * channels}",
        target="avx512",
    )
    first, second, last = (step["flops"] for kind, step in steps if kind == "contraction")
    assert (first, last) == (2 * 36 * 16 * 32, 2 * 36 * channels * 16)
    assert second == 2 * 36 * 32 * counted


def test_winograd_counts_what_it_does(tmp_path: Path) -> None:
    """36 products a tile of 4x4 results instead of 144; transforms count their nonzeros."""
    steps = work(
        tmp_path,
        2,
        "Input data 0 1 data 0=24 1=24 2=32",
        "Convolution conv 1 1 data out 0=32 1=3 4=1 6=9216",
    )
    products = 2 * 36 * 36 * 32 * 32
    assert products < total(steps)["flops"] < 2 * products


@pytest.mark.parametrize("threads", [1, 2])
def test_a_loop_counts_what_its_calls_do(
    make_network: Callable[..., ModuleOp], make_plan: Callable[..., Plan], threads: int
) -> None:
    """But it reads weights once, and what a call hands on to the next is in no memory."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((16, 16), np.float32)))
        made = []
        for number in range(4):
            part = b.slice(x, (0, 8 * number), (16, 8))
            for _ in range(2):
                o, c, k = b.loops("o:16 c:8 k:16")
                part = b.sum((o, c), (k,), w[o, k] * part[k, c])
            made.append(part)
        return b.concat(made, 1)

    plan = rolled(make_plan(make_network([(16, 32)], write)), 0, 2, 4, threads)
    (loop,) = map(work_of, build(plan, AVX512, 1).steps)
    alone = [work_of(step) for step in build(plan.unrolled(), AVX512, 1).steps]
    assert loop.flops == sum(work.flops or 0 for work in alone)
    assert loop.weight_bytes == alone[0].weight_bytes * 2
    assert 2 * loop.read_bytes == sum(work.read_bytes for work in alone)
    assert 2 * loop.written_bytes == sum(work.written_bytes for work in alone)


def total(steps: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, int]:
    """The total work."""
    return {name: sum(step[name] for _, step in steps) for name in steps[0][1]}


def test_weights_that_are_transformed_count_once(tmp_path: Path) -> None:
    """36 products for each tile and pair of channels; weights are transformed once, from 9."""
    steps = work(
        tmp_path,
        2,
        "Input data 0 1 data 0=7 1=7 2=256",
        "Convolution conv 1 1 data out 0=512 1=3 4=1 6=1179648",
        target="avx512",
    )
    (formed,) = [step for kind, step in steps if kind == "contraction"]
    pairs = 512 * 256
    assert formed["flops"] == 2 * 36 * 4 * pairs + 2 * 14 * (6 + 3) * pairs
    assert formed["weight_bytes"] == 4 * (9 * pairs + 18)


def test_elementwise_work_is_one_operation_an_element(tmp_path: Path) -> None:
    """Read once, written once."""
    (step,) = work(
        tmp_path,
        0,
        "Input data 0 1 data 0=5 1=4 2=3",
        "BinaryOp half 1 1 data out 0=2 1=1 2=0.5",
    )
    bytes = {"weight_bytes": 0, "read_bytes": 240, "written_bytes": 240}
    assert step[1] == {"flops": 60, "tile_flops": 0, "byte_flops": 0, **bytes}


def test_padding_counts_its_frame(tmp_path: Path) -> None:
    """Elements of a border are written, and nothing is read for them."""
    steps = work(
        tmp_path,
        0,
        "Input data 0 1 data 0=4 1=4 2=1",
        "Padding pad 1 1 data out 0=1 1=1 2=1 3=1 5=2.0",
    )
    assert sum(step["flops"] for _, step in steps) == 0
    assert sum(step["written_bytes"] for _, step in steps) >= 4 * 36


def test_products_of_tiles_are_told_apart(tmp_path: Path) -> None:
    """Three products of bf16 numbers for one of float32; splits and epilogues do not count."""
    steps = work(
        tmp_path,
        3,
        "Input data 0 1 data 0=16 1=16 2=64",
        "Convolution conv 1 1 data out 0=64 1=1 5=1 6=4096 9=1",
        target="amx",
    )
    products = [step for kind, step in steps if step["tile_flops"]]
    assert [step["tile_flops"] for step in products] == [3 * 2 * 64 * 64 * 256]
    assert all(step["flops"] >= step["tile_flops"] for step in products)
    assert len(products) < len(steps)


def test_products_of_bytes_are_told_apart(tmp_path: Path) -> None:
    """Those of the int8 convolution; scaling of sums does not count."""
    steps = work(
        tmp_path,
        2,
        "Input data 0 1 data 0=16 1=16 2=3",
        "Convolution first 1 1 data x 0=64 1=1 5=1 6=192",
        "Convolution conv 1 1 x out 0=64 1=1 5=1 6=4096 8=2",
        target="avx512vnni",
    )
    assert sum(step["byte_flops"] for _, step in steps) == 2 * 64 * 64 * 256
    assert all(step["flops"] > step["byte_flops"] for _, step in steps if step["byte_flops"])
