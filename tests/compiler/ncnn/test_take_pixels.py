"""Inputs that are fed pixels, as a part of the network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import ncc
from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.driver.compile import compile_file
from ncc.compiler.options import Options
from ncc.compiler.stopwatch import Stopwatch
from ncc.runtime.artifact import Artifact
from tests.c_programs import Library, needs_cc, outputs_of
from tests.onnx.models import model, written

NETWORK = """7767517
3 3
Input i 0 1 data{size}
Convolution c 1 1 data x 0=4 1=3 5=1 6=108
ReLU r 1 1 x y
"""
MEAN, NORM = (104, 117, 123), 0.017
IMAGE = np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)
PIXELS = "uint8,hwc,bgr2rgb,mean=104,117,123,norm=0.017"


@pytest.fixture
def param(tmp_path: Path) -> Path:
    path = tmp_path / "net.param"
    path.write_text(NETWORK.format(size=""))
    return path


def expected(param: Path) -> Any:
    model = ncc.compile(param, random_weights=1, input_shapes={"data": (3, 20, 30)})
    return model(ncc.image.from_pixels(IMAGE, "bgr2rgb", MEAN, NORM))


def test_a_buffer_goes_in_as_it_is(param: Path) -> None:
    """At its size, and at all sizes, whose shapes are said as the network has them."""
    wanted = expected(param)
    for shape in [None, (3, 20, 30), (3, None, None), (None, (8, 64), None)]:
        shapes: Any = None if shape is None else {"data": shape}
        inputs = {"data": PIXELS}
        model = ncc.compile(param, random_weights=1, input_shapes=shapes, inputs=inputs)
        assert model.inputs[0].dtype == "uint8" and model.inputs[0].shape[2] == 3
        np.testing.assert_allclose(model(IMAGE), wanted, rtol=0, atol=1e-5)
        np.testing.assert_array_equal(model(IMAGE[:, ::-1].copy()[:, ::-1]), model(IMAGE))
    with pytest.raises(
        ncc.InputError, match=r"expected uint8 \?x8..64x3|expected uint8 8..64x\?x3"
    ):
        model(IMAGE[:4])


def test_tiles_of_a_buffer(param: Path) -> None:
    """Pixels go in, and pixels come back."""
    text = param.read_text().replace("0=4 1=3 5=1 6=108", "0=3 1=3 4=1 6=81")
    param.write_text(text)
    plain = ncc.compile(param, random_weights=1, input_shapes={"data": (3, None, None)})
    taking = ncc.compile(param, random_weights=1, inputs={"data": "rgb,norm=0.0625"})
    both = ncc.compile(
        param,
        random_weights=1,
        inputs={"data": "rgb,norm=0.0625"},
        outputs={"y": "rgb2bgr,norm=0.0625"},
    )
    models = ((plain, "rgb"), (taking, "rgb"), (both, "rgb"))
    one, other, third = (
        ncc.tiled(model, 12, 1, norm=0.0625, conversion=order)(IMAGE) for model, order in models
    )
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one[..., ::-1], third)
    returning = ncc.compile(param, random_weights=1, outputs={"y": "rgb"})
    with pytest.raises(ncc.InputError, match="returns pixels: give it pixels"):
        ncc.tiled(returning, 12, 1)(np.zeros((3, 20, 30), np.float32))


def test_the_command_line_says_the_same(
    param: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shapes may still be said by --input, too; an image file is fed as pixels."""
    out, image = str(tmp_path / "net.ncc"), str(tmp_path / "x.png")
    base = ["compile", str(param), "--random-weights", "1", "-o", out]
    assert cli.run([*base, "--shape", "data=3x?x?", "--input", f"data={PIXELS}"]) == exit_codes.OK
    assert "data  uint8 ?x?x3" in capsys.readouterr().out
    np.testing.assert_allclose(ncc.load(out)(IMAGE), expected(param), rtol=0, atol=1e-5)
    ncc.image.save(IMAGE, image)
    result = str(tmp_path / "y.npy")
    words = ["run", out, "--input", f"data=@{image}", "--output", f"y=@{result}"]
    assert cli.run(words) == exit_codes.OK
    np.testing.assert_array_equal(np.load(result), ncc.load(out)(IMAGE))
    assert cli.run([*base, "--input", "data=3x8x8"]) == exit_codes.OK
    assert cli.run([*base, "--input", "data=3x8x8", "--shape", "data=3x8x8"]) == exit_codes.USAGE
    assert "data is given more than once" in capsys.readouterr().err
    assert cli.run([*base, "--input", "data=brg"]) == exit_codes.WRONG
    for output, code in [
        ("y=uint8,hwc,bgra", exit_codes.OK),
        ("y=brg", exit_codes.WRONG),
        ("z=rgb", exit_codes.WRONG),
        ("y=@y.png", exit_codes.USAGE),
    ]:
        words = [*base, "--shape", "data=3x?x?", "--output", output]
        assert cli.run(words) == code, output
    assert ncc.load(out).outputs[0].shape == (-1, -1, 4)


@pytest.mark.parametrize("shape", [[1, 3, 20, 30], ["n", 3, "h", "w"], ["n", "c", "h", "w"]])
def test_an_onnx_takes_and_returns_pixels(shape: list[int | str], tmp_path: Path) -> None:
    """A batch of 1, whose axis pixels do not have; at its size or at all sizes."""
    weights = np.random.default_rng(1).standard_normal((12, 3, 3, 3), np.float32) / 8
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("DepthToSpace", ["a"], ["y"], blocksize=2),
    ]
    path = written(tmp_path, model(nodes, {"x": shape}, ["y"], {"w": weights}))
    plain = ncc.compile(path)
    said: Any = {"inputs": {"x": PIXELS}, "outputs": {"y": "rgb2bgr,mean=3,norm=0.0117"}}
    pixels = ncc.compile(path, **said)
    for image in [IMAGE, IMAGE[:7, :9].copy()] if "h" in shape else [IMAGE]:
        fed = ncc.image.from_pixels(image, "bgr2rgb", MEAN, NORM)
        values = plain(fed[None])[0]
        expected = ncc.image.to_pixels(values, "rgb2bgr", 3, 0.0117)
        np.testing.assert_array_equal(pixels(image), expected)
    with pytest.raises(ncc.InputError, match=r"that of the network: expected \(3, height, width"):
        ncc.compile(path, input_shapes={"x": (2, 3, 20, 30)}, **said)


@needs_cc
def test_a_library_takes_and_returns_pixels(param: Path, tmp_path: Path) -> None:
    """As uint8_t, at any size."""
    text = param.read_text().replace("0=4 1=3 5=1 6=108", "0=3 1=3 4=1 6=81")
    param.write_text(text)
    options = Options.of(
        random_weights=1,
        input_shapes={"data": (3, None, None)},
        inputs={"data": PIXELS},
        outputs={"y": "rgb2bgr,mean=104,norm=0.1"},
        ahead=True,
    )
    path = tmp_path / "net.ncc"
    compile_file(param, None, options, path, Stopwatch())
    library = Library(Artifact.load(path), tmp_path / "library")
    expected = ncc.load(path).run({"data": IMAGE})
    assert len(np.unique(expected["y"])) > 9
    assert "(sizes)->data_h * (size_t)(sizes)->data_w" in (library.folder / "net.h").read_text()
    assert library.run({"data": IMAGE}) == outputs_of(library.signature, expected)


def test_an_onnx_of_a_batch_takes_no_pixels(tmp_path: Path) -> None:
    """Nor does an input of integers."""
    node = helper.make_node("Relu", ["x"], ["y"])
    path = written(tmp_path, model([node], {"x": [2, 3, 4, 5]}, ["y"]))
    with pytest.raises(ncc.InputError, match=r"expected \(1, 3, height, width\)"):
        ncc.compile(path, inputs={"x": "rgb"})
    path = written(tmp_path, model([node], {"x": np.zeros((1, 3, 4, 5), np.int32)}, ["y"]))
    with pytest.raises(ncc.InputError, match="expected an input of float32, found int32"):
        ncc.compile(path, inputs={"x": "rgb"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"inputs": {"dat": "rgb"}}, "the model has no input 'dat'.*mean 'data'"),
        ({"outputs": {"y": "gray"}}, r"y_pixels: no image: expected \(1, height"),
        ({"outputs": {"y": 3}}, "no pixels for output 'y': expected a PixelOutput"),
        ({"inputs": {"data": "gray"}}, r"no pixels for input 'data': expected \(1, height"),
        (
            {"inputs": {"data": "rgb"}, "input_shapes": {"data": (20, 30, 3)}},
            r"is that of the network: expected \(3, height, width\), found \(20, 30, 3\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(param: Path, options: Any, said: str) -> None:
    """By the name of the input."""
    param.write_text(NETWORK.format(size=" 0=30 1=20 2=3"))
    with pytest.raises(ncc.InputError, match=said):
        ncc.compile(param, random_weights=1, **options)
