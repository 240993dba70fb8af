"""Caches, and the masks over them, get their shapes from the layers that read them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.dialects.ncnn.layer import Shape, shape_of
from ncc.dialects.ncnn.network import Network, caches, implied_inputs
from ncc.dialects.size import Size
from ncc.runtime.errors import InputError

Net = Callable[..., ModuleOp]

# Two blocks that share a mask: two heads of three rows of four features.
BLOCKS = """
    Input  x     0 1 x   0=4 1=3 2=2
    Input  mask  0 1 mask
    Input  kv    0 4 k0 v0 k1 v1
    Split  s     1 6 x x0 x1 x2 x3 x4 x5
    Split  m     1 2 mask m0 m1
    SDPA   a     6 3 x0 x1 x2 m0 k0 v0 y0 ok0 ov0 5=1 7=1
    SDPA   b     6 3 x3 x4 x5 m1 k1 v1 y1 ok1 ov1 5=1 7=1
"""
CACHES = ("k0", "v0", "k1", "v1")


def rows(cache: str) -> int:
    """The rows of a cache, of which the run tells how many there are."""
    return Size.symbol(f"{cache}_h", 224, least=0)


def shapes(module: ModuleOp) -> dict[str, Shape | None]:
    """The shapes of all blobs."""
    return {
        blob: shape_of(value)
        for layer in Network.of(module).layers
        for blob, value in zip(layer.blob_names, layer.results, strict=True)
    }


def test_who_reads_a_cache_tells_its_shape(net: Net) -> None:
    """All are as long as the first one; the mask and results have rows of the run as well."""
    module = net(BLOCKS, shapes=False)
    assert implied_inputs(Network.of(module)) == {"mask", *CACHES}
    assert caches(Network.of(module)) == set(CACHES)
    infer_shapes(module)
    past, found = rows("k0"), shapes(module)
    assert {found[name] for name in CACHES} == {(2, past, 4)}
    assert {found[name] for name in ("mask", "m0", "m1")} == {(3, past + 3)}
    assert {found[name] for name in ("ok0", "ov0", "ok1", "ov1")} == {(2, past + 3, 4)}
    assert found["y0"] == found["y1"] == (2, 3, 4)


def test_caches_without_a_mask_are_of_any_length(net: Net) -> None:
    """Those of each layer by themselves: nothing says that all are as long."""
    lines = BLOCKS.replace(" m0 ", " ").replace(" m1 ", " ").replace("6 3 x", "5 3 x")
    kept = [line for line in lines.splitlines() if "mask" not in line]
    module = net("\n".join(kept).replace("5=1 7=1", "7=1"), shapes=False)
    infer_shapes(module)
    found = shapes(module)
    assert found["k0"] == found["v0"] == (2, rows("k0"), 4)
    assert found["k1"] == found["v1"] == (2, rows("k1"), 4)


def test_a_shape_that_is_asked_for_settles_the_others(net: Net) -> None:
    """A mask says how much the caches hold, a cache what goes with it."""
    module = net(BLOCKS, shapes=False)
    infer_shapes(module, {"mask": (3, 8)})
    assert {shapes(module)[name] for name in CACHES} == {(2, 5, 4)}
    module = net(BLOCKS, shapes=False)
    infer_shapes(module, {"k0": (2, 0, 4), "v0": (0,)})
    assert shapes(module)["mask"] == (3, 3)
    assert shapes(module)["v1"] == (2, 0, 4)


def test_open_shapes_are_held_to_what_is_found(net: Net) -> None:
    """None stands for the open extent; others are what the layers say."""
    module = net(BLOCKS, shapes=False)
    infer_shapes(module, {"k0": (2, None, 4), "mask": (3, None)})
    assert shapes(module)["k0"] == (2, rows("k0"), 4)
    with pytest.raises(InputError, match="'k0' has another shape: .* 2x.k0_h.x4, found 2x\\?x5"):
        infer_shapes(net(BLOCKS, shapes=False), {"k0": (2, None, 5)})


def test_shapes_that_contradict_are_refused(net: Net) -> None:
    """As for layers whose shapes are all known."""
    with pytest.raises(ModelError, match="caches .* differ in their rows"):
        infer_shapes(net(BLOCKS, shapes=False), {"k0": (2, 1, 4), "v0": (2, 2, 4)})
    with pytest.raises(ModelError, match="do not tell the shapes of caches"):
        infer_shapes(net(BLOCKS, shapes=False), {"x": (3, 4)})


def test_what_others_read(net: Net) -> None:
    """A layer behind a cache has as many rows; an input that others read must have a shape."""
    module = net(BLOCKS + "Dropout d 1 1 ok0 z", shapes=False)
    infer_shapes(module)
    assert shapes(module)["z"] == (2, rows("k0") + 3, 4)
    module = net(
        BLOCKS.replace("m0 m1", "m0 m1 m2").replace("1 2 mask", "1 3 mask") + "ReLU r 1 1 m2 z",
        shapes=False,
    )
    assert "mask" not in implied_inputs(Network.of(module))
    with pytest.raises(ModelError, match="shape of input 'mask' is not known"):
        infer_shapes(module)


def test_only_caches_may_be_empty(net: Net) -> None:
    """An extent of 0 is for what earlier runs left."""
    with pytest.raises(InputError, match="input 'mask' cannot be 3x0"):
        infer_shapes(net(BLOCKS, shapes=False), {"mask": (3, 0)})


def test_a_cache_in_place_of_keys_is_open(net: Net) -> None:
    """Attention between two inputs wants to know the rows of its caches."""
    cross = """
        Input q 0 1 q 0=4 1=3
        Input k 0 1 k 0=4 1=5
        Input c 0 2 ck cv
        MultiHeadAttention a 4 3 q k ck cv y ok ov 0=4 2=16 7=1
    """
    module = net(cross, shapes=False)
    assert implied_inputs(Network.of(module)) == set()
    infer_shapes(module, {"ck": (1, 0, 4), "cv": (1, 0, 4)})
    assert shapes(module)["ok"] == (1, 5, 4)
    module = net(cross, shapes=False)
    infer_shapes(module, {"ck": (1, 7, 4), "cv": (1, 7, 4)})
    assert shapes(module)["ok"] == (1, 7, 4)
