"""Hints of open extents that the layers take together."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network
from ncc.dialects.size import Size, form_of
from ncc.runtime.errors import InputError

Asked = dict[str, tuple[int | None | tuple[int, int | None], ...]]

TWO = """7767517
3 3
Input a 0 1 a 0=0 1=0 2=3
Input b 0 1 b 0=0 1=0 2=3
BinaryOp c 2 1 a b c 0=0
"""

TURNED = """7767517
4 5
Input a 0 1 a 0=0 1=0 2=3
Split s 1 2 a one two
Permute b 1 1 one b 0=1
BinaryOp c 2 1 two b c 0=0
"""

SUM = """7767517
5 5
Input a 0 1 a 0=0 1=0 2=3
Input b 0 1 b 0=0 1=0 2=3
Input d 0 1 d 0=0 1=0 2=3
Concat e 2 1 a b e 0=1
BinaryOp c 2 1 e d c 0=0
"""

POSITIONS = """7767517
4 4
Input a 0 1 a 0=0 1=0 2=1
Reshape b 1 1 a b 0=1 1=-1
MemoryData t 0 1 t 0=1 1=4000
Crop c 2 1 t b c
"""
"""One of a table for each point of an image: it has no more than 4,000."""

LARGE_WINDOW = """7767517
2 2
Input a 0 1 a 0=0 1=0 2=3
Pooling c 1 1 a c 0=1 1=500 5=1
"""


CONVOLUTION = "Convolution c 1 1 {} out 0=4 1=3 4=1 5=1 6={}"
CHANNELS = """7767517
3 3
Input a 0 1 a
{}
{}
"""


@pytest.mark.parametrize(
    ("first", "second", "channels"),
    [
        ("PixelShuffle b 1 1 a b 0=2", CONVOLUTION.format("b", 108), 12),
        ("ShuffleChannel b 1 1 a b 0=5", CONVOLUTION.format("b", 720), 20),
        ("Reorg b 1 1 a b 0=2", CONVOLUTION.format("b", 432), 3),
        ("Pooling b 1 1 a b 0=1 4=1", "InnerProduct c 1 1 b out 0=10 1=1 2=320", 32),
    ],
)
def test_layers_decide_channels(first: str, second: str, channels: int, tmp_path: Path) -> None:
    """Also by quotients of them: the quotient by 4 is 3, and nothing is left."""
    path = tmp_path / "net.param"
    path.write_text(CHANNELS.format(first, second))
    options = Options.of(input_shapes={"a": (None,) * 3}, random_weights=1, ahead=True)
    module = Compilation(path, None, options).network()
    shape = shape_of(Network.of(module).inputs["a"])
    assert shape is not None and shape[0] == channels
    assert all(isinstance(extent, Size) for extent in shape[1:])


def test_channels_that_blocks_divide_stay_open(tmp_path: Path) -> None:
    """A hint is found that they divide."""
    text = CHANNELS.format("PixelShuffle b 1 1 a b 0=2", "ReLU c 1 1 b out")
    found = hints(tmp_path, text, {"a": (None, None, None)})
    assert found == {"a_c": 4, "a_h": 224, "a_w": 224}


def hints(tmp_path: Path, text: str, asked: Asked) -> dict[str, int]:
    """The hint of each open extent."""
    path = tmp_path / "net.param"
    path.write_text(text)
    options = Options.of(input_shapes=asked, random_weights=1, ahead=True)
    compilation = Compilation(path, None, options)
    compilation.network()
    extents = [n for shape in compilation.opened.values() for n in shape if n is not None]
    return {one.name: one.hint for extent in extents for one in form_of(extent).symbols}


@pytest.mark.parametrize(
    ("text", "asked", "wanted"),
    [
        (TWO, {"a": (3, None, None), "b": (3, None, None)}, {"a_h": 224, "b_h": 224}),
        (TWO, {"a": (3, (64, 128), None), "b": (3, (99, 512), None)}, {"a_h": 128, "b_h": 128}),
        (TWO, {"a": (3, None, None), "b": (3, (300, None), None)}, {"a_h": 300, "b_h": 300}),
        (TWO, {"a": (3, (10, 90), None), "b": (3, 64, None)}, {"a_h": 64}),
        (TURNED, {"a": (3, (64, 210), (200, 512))}, {"a_h": 210, "a_w": 210}),
        (
            SUM,
            {"a": (3, (10, 50), None), "b": (3, (20, 100), None), "d": (3, None, None)},
            {"a_h": 50, "b_h": 100, "d_h": 150},
        ),
    ],
)
def test_a_hint_is_within_all_ranges(
    text: str, asked: Asked, wanted: dict[str, int], tmp_path: Path
) -> None:
    """Extents that layers take for equal, sums of some, and one that has to be a number."""
    assert hints(tmp_path, text, asked).items() >= wanted.items()


@pytest.mark.parametrize(
    ("text", "asked", "wanted"),
    [
        (POSITIONS, {"a": (1, None, None)}, {"a_h": 56, "a_w": 56}),
        (POSITIONS, {"a": (1, (100, 200), None)}, {"a_h": 100, "a_w": 28}),
        (LARGE_WINDOW, {"a": (3, None, (600, 700))}, {"a_h": 896, "a_w": 700}),
    ],
)
def test_images_are_as_small_or_as_large_as_layers_need(
    text: str, asked: Asked, wanted: dict[str, int], tmp_path: Path
) -> None:
    """Where none of the usual size fits."""
    assert hints(tmp_path, text, asked).items() >= wanted.items()


def test_images_are_square_if_they_need_a_number_of_elements(tmp_path: Path) -> None:
    """Weights take 8 x 8 of them; the other side counts if one is known."""
    flat = "InnerProduct c 1 1 b c 0=10 1=1 2=1920"
    text = CHANNELS.format("Pooling b 1 1 a b 0=0 1=2 2=2", flat)
    assert hints(tmp_path, text, {"a": (3, None, None)}) == {"a_h": 16, "a_w": 16}
    assert hints(tmp_path, text, {"a": (3, 32, None)}) == {"a_w": 8}


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        (TWO, {"a": (3, (64, 128), None), "b": (3, (200, 512), None)}, "'b' .* a_h == b_h:"),
        (TWO, {"a": (3, (10, 20), None), "b": (3, 64, None)}, "'a' .* a_h == 64: a_h is 10..20$"),
        (TURNED, {"a": (3, (64, 110), (200, 512))}, "'a' .* a_h == a_w: a_h is 64..110, a_w"),
    ],
)
def test_ranges_that_do_not_meet_are_named(
    text: str, asked: Asked, said: str, tmp_path: Path
) -> None:
    """The options are wrong then, not the model."""
    with pytest.raises(InputError, match=said):
        hints(tmp_path, text, asked)


def test_a_model_that_takes_no_shape_is_wrong(tmp_path: Path) -> None:
    """Whatever the ranges are."""
    asked: Asked = {"a": (3, (64, 128), None), "b": (4, (99, 512), None)}
    with pytest.raises(ModelError, match="do not broadcast"):
        hints(tmp_path, TWO.replace("2=3\nBin", "2=4\nBin"), asked)
