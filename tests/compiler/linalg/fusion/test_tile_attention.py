"""Attention whose rows run some at a time: which operations the loop has, and the same numbers."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.linalg.ops import GenericOp

import ncc
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.fusion.tile_and_fuse import TileAndFuse
from ncc.compiler.linalg.fusion.tile_attention import TileAttention
from ncc.compiler.linalg.reductions.defer_division import DeferDivision
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.attention.scaled_dot_product import Heads, attended, attended_array
from ncc.dialects.scalar import maximum
from ncc.dialects.tiled import TiledLoopOp
from tests.compiler.conftest import network
from tests.structured.evaluate import evaluate


@pytest.mark.parametrize(
    ("heads", "shared", "mask", "outside"),
    [
        (1, 1, (), False),
        (1, 1, (13, 7), True),
        (2, 1, (2, 13, 7), False),
        (2, 3, (6, 13, 7), False),
        (1, 2, (1, 13, 7), True),
    ],
)
def test_softmax_and_both_products_are_one_loop(
    heads: int, shared: int, mask: tuple[int, ...], outside: bool
) -> None:
    """Two tiles of five rows; three rows stand behind the loop. Work on each row joins the loop, if
    no reshape stands between.
    """
    rows, keys, features = 13, 7, 5
    most = -(-heads * shared * rows * keys // 3)

    def write(b: Builder, q: Tensor, k: Tensor, v: Tensor, *masks: Tensor) -> Tensor:
        y = attended(b, Heads(q, outside), Heads(k), Heads(v), masks[0] if masks else None, 0.5)
        at = b.loops_of(y.shape)
        relu = b.map(at, maximum(y[tuple(at)], 0.0))
        return b.collapse(relu, [[0], [1, 2]])

    query = (rows, heads * shared, 3) if outside else (heads * shared, rows, 3)
    shapes = [query, (heads, keys, 3), (heads, keys, features), *([mask] if mask else [])]
    module = network(shapes, write)
    DeferDivision().apply(Context(), module)
    draw = np.random.default_rng(0)
    feeds = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    (wanted,) = evaluate(network_of(module), feeds)
    for one in (TileAttention(most), TileAndFuse()):
        one.apply(Context(), module)
        module.verify()
    (got,) = evaluate(network_of(module), feeds)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)
    (loop,) = [op for op in network_of(module).body.block.ops if isinstance(op, TiledLoopOp)]
    body = [op for op in loop.body.block.ops if isinstance(op, GenericOp)]
    assert loop.times == 2 and prod(shape_of(loop.parts[0])) * 13 == wanted.size * 5
    assert len(body) == (8 if shared == 1 else 7) and len(loop.results) == 1


@pytest.mark.slow
def test_open_rows_run_some_at_a_time(tmp_path: Path) -> None:
    """However many there are behind the first call, by any number of threads, with equal bits."""
    path = tmp_path / "sdpa.param"
    inputs = (f"Input {name} 0 1 {name}" for name in "qkv")
    path.write_text("\n".join(["7767517", "4 4", *inputs, "SDPA s 3 1 q k v y", ""]))
    shapes = {"q": (6, None, 8), "k": (3, None, 8), "v": (3, None, 8)}
    models = [ncc.compile(path, num_threads=n, input_shapes=shapes) for n in (1, 2)]
    draw = np.random.default_rng(0)
    for rows, keys in ((500, 500), (1, 3), (13, 700), (700, 13), (257, 129)):
        extents = {"q": (6, rows, 8), "k": (3, keys, 8), "v": (3, keys, 8)}
        feeds = {name: draw.standard_normal(s).astype(np.float32) for name, s in extents.items()}
        one, two = (model.run(feeds)["y"] for model in models)
        expected = attended_array(feeds["q"], feeds["k"], feeds["v"], None, 8**-0.5)
        np.testing.assert_array_equal(one, two)
        np.testing.assert_allclose(one, expected, atol=1e-5)
