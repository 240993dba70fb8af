"""Attention over caches, compiled once, at many lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from tests.crossed import crossed
from tests.runnable import NAMES as RUNNABLE

Array = np.ndarray[Any, Any]
LENGTHS = [0, 1, 5, 63, 64, 65, 200]
"""Past rows: none, less than a block of keys, a block, more."""


def written(folder: Path, inputs: Sequence[str], layer: str) -> Path:
    """A network of one layer of attention."""
    lines = [f"Input {name} 0 1 {name}" for name in inputs]
    lines.append(layer)
    path = folder / "attention.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {len(inputs) + 3}", *lines, ""]))
    return path


def check(
    path: Path, shapes: Mapping[str, tuple[int, ...]], cache: Sequence[Any], **way: Any
) -> None:
    """One model for all lengths, against the references.

    cache: (heads, features) of keys and of values.
    """
    model = ncc.compile(path, random_weights=3, input_shapes=shapes, num_threads=2, **way)
    module = read(path, None, random_weights=3).module
    generator = np.random.default_rng(0)
    rows = shapes["q"][-2]
    for past in LENGTHS:
        feeds = {n: generator.standard_normal(s, np.float32) for n, s in shapes.items()}
        for name, (heads, features) in zip(("ck", "cv"), cache, strict=True):
            feeds[name] = generator.standard_normal((heads, past, features), np.float32)
        if any(binding.name == "mask" for binding in model.inputs):
            hidden = generator.random((rows, past + rows)) < 0.3
            hidden[:, -1] = False
            feeds["mask"] = np.where(hidden, -np.inf, 0).astype(np.float32)
        expected = interpret(module, feeds)
        for name, array in model.run(feeds).items():
            np.testing.assert_allclose(array, expected[name], rtol=1e-4, atol=2e-6, err_msg=name)


WAYS: list[dict[str, Any]] = [{"opt_level": 0}, *({"target": target} for target in RUNNABLE)]


@pytest.mark.parametrize(
    ("sizes", "way"),
    [
        *((sizes, WAYS[1]) for sizes in ((4, 2, 3, 8, 5), (2, 2, 1, 64, 64), (3, 3, 16, 40, 24))),
        ((4, 2, 70, 10, 6), WAYS[0]),
        *(pytest.param((4, 2, 70, 10, 6), way, marks=pytest.mark.slow) for way in WAYS[1:-1]),
        ((4, 2, 70, 10, 6), WAYS[-1]),
    ],
    ids=str,
)
def test_sdpa(sizes: tuple[int, ...], way: dict[str, Any], tmp_path: Path) -> None:
    """Heads that share keys or do not, one row or more, vectors whole or not; with a mask.

    Rows that ask together or are left over, new keys of less than a block or more.
    """
    heads, groups, rows, features, mixed = sizes
    inputs = ["q", "k", "v", "mask", "ck", "cv"]
    path = written(tmp_path, inputs, f"SDPA s 6 3 {' '.join(inputs)} y ok ov 5=1 7=1")
    shapes = {
        "q": (heads, rows, features),
        "k": (groups, rows, features),
        "v": (groups, rows, mixed),
    }
    check(path, shapes, [(groups, features), (groups, mixed)], **way)


def test_without_a_mask(tmp_path: Path) -> None:
    """All keys are asked."""
    inputs = ["q", "k", "v", "ck", "cv"]
    path = written(tmp_path, inputs, f"SDPA s 5 3 {' '.join(inputs)} y ok ov 6=0.3 7=1")
    shapes = {"q": (2, 3, 4), "k": (2, 3, 4), "v": (2, 3, 4)}
    check(path, shapes, [(2, 4), (2, 4)])


@pytest.mark.parametrize(("mask", "way"), crossed([0, 1], WAYS[:2]))
def test_multi_head_attention(mask: int, way: dict[str, Any], tmp_path: Path) -> None:
    """Of one input: its keys and values follow those of the caches."""
    inputs = ["q", *["mask"] * mask, "ck", "cv"]
    blobs = f"{len(inputs)} 3 {' '.join(inputs)} y ok ov"
    layer = f"MultiHeadAttention a {blobs} 0=12 1=3 2=120 3=10 4=10 5={mask} 7=1"
    check(written(tmp_path, inputs, layer), {"q": (4, 10)}, [(3, 4), (3, 4)], **way)


def test_a_mask_that_hides_all_keys_of_a_block(tmp_path: Path) -> None:
    """What a block without a visible key adds is nothing, whichever block it is."""
    inputs = ["q", "k", "v", "mask", "ck", "cv"]
    path = written(tmp_path, inputs, f"SDPA s 6 3 {' '.join(inputs)} y ok ov 5=1 7=1")
    shapes = {name: (1, 1, 4) for name in "qkv"}
    model = ncc.compile(path, random_weights=0, input_shapes=shapes)
    generator = np.random.default_rng(0)
    arrays = {name: generator.standard_normal((1, 1, 4), np.float32) for name in "qkv"}
    caches = {name: generator.standard_normal((1, 130, 4), np.float32) for name in ("ck", "cv")}
    for shown in (2, 70, 129, 130):
        mask = np.full((1, 131), -np.inf, np.float32)
        mask[0, shown] = 0
        values = np.concatenate([caches["cv"], arrays["v"]], 1)
        found = model.run({**arrays, **caches, "mask": mask})["y"]
        np.testing.assert_allclose(found, values[:, shown : shown + 1], rtol=1e-6)


@pytest.mark.parametrize("cache", [(7,), (2, 7), (1, 2, 2, 4)])
def test_caches_of_another_rank_are_refused(cache: tuple[int, ...], tmp_path: Path) -> None:
    """As such, whatever a mask that nobody gives a shape would be then."""
    inputs = ["q", "k", "v", "mask", "ck", "cv"]
    path = written(tmp_path, inputs, f"SDPA s 6 3 {' '.join(inputs)} y ok ov 5=1 7=1")
    shapes = {**dict.fromkeys("qkv", (2, 3, 4)), "ck": cache, "cv": cache}
    with pytest.raises(ncc.ModelError, match=r"the cache of keys is .* must be \(2, rows, 4\)"):
        ncc.compile(path, random_weights=0, input_shapes=shapes)
