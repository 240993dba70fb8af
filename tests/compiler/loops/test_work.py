"""The work of steps, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ncc.compiler.driver import compile as front
from ncc.compiler.options import Options


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
    kinds = [kind for kind, _ in steps]
    assert kinds.count("transform") >= 2
    products = sum(step["flops"] for kind, step in steps if kind == "contraction")
    assert products == 2 * 36 * 36 * 32 * 32
    transforms = sum(step["flops"] for kind, step in steps if kind == "transform")
    assert 0 < transforms < products


def test_rounds_count_what_their_calls_do(tmp_path: Path) -> None:
    """As one thread does them one by one; but weights are read once, and V and M, which take 4.5
    times as much as the image, are in no memory.
    """
    lines = (
        "Input data 0 1 data 0=48 1=48 2=32",
        "Convolution conv 1 1 data out 0=32 1=3 4=1 6=9216",
    )
    chunks, rounds = (work(tmp_path, 2, *lines, num_threads=n) for n in (1, 2))
    assert len(rounds) < len(chunks)
    alone, shared = total(chunks), total(rounds)
    assert shared["flops"] == alone["flops"]
    assert 4 * 36 * 32 * 32 < shared["weight_bytes"] <= alone["weight_bytes"]
    image = 4 * 32 * 48 * 48
    assert shared["read_bytes"] + 4 * image < alone["read_bytes"]
    assert shared["written_bytes"] + 4 * image < alone["written_bytes"]


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
