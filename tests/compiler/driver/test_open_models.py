"""Models of open shapes: known shapes cost little, wrong ones are refused, a file is for all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver import specialise
from ncc.compiler.driver.open_binding import OpenBinding
from ncc.compiler.driver.specialise import OpenModel
from ncc.runtime.artifact import Artifact
from tests.functions_entered import functions_entered

ONE = """7767517
2 2
Input data 0 1 data
Convolution c 1 1 data out 0=8 1=3 4=1 5=1 6=216 9=1
"""

TWO = """7767517
3 3
Input data 0 1 data
Input more 0 1 more
BinaryOp add 2 1 data more out 0=0
"""

EVEN = """7767517
5 6
Input data 0 1 data 0=6 1=6 2=3
Split s 1 2 data a b
Pooling p 1 1 a half 0=0 1=2 2=2
Interp up 1 1 half whole 0=1 1=2.0 2=2.0
BinaryOp add 2 1 b whole out 0=0
"""


def made(folder: Path, text: str) -> OpenModel:
    path = folder / "net.param"
    path.write_text(text)
    model = ncc.compile(path, random_weights=1)
    assert isinstance(model, OpenModel)
    return model


def image(*shape: int) -> Any:
    return np.random.default_rng(0).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("reason", [None, "a test wants it so"])
def test_a_call_of_a_shape_again_costs_little(tmp_path: Path, reason: str | None) -> None:
    """No more than that of a model for this shape alone, but for one look at what is known and the
    bytes of a result.
    """
    model, x = made(tmp_path, ONE), image(3, 8, 8)
    model.reason = reason
    alone = model.compiled({"data": x.shape})
    alone(x)
    model(x)
    more = functions_entered(lambda: model(x)) - functions_entered(lambda: alone(x))
    assert more <= 6


def test_shapes_that_were_called_apart_are_not_known_together(tmp_path: Path) -> None:
    """The version of the last call has seen both, each with another."""
    model = made(tmp_path, TWO)
    for height, other in ((8, 8), (5, 5), (8, 5), (5, 5)):
        feeds = {"data": image(3, height, 4), "more": image(3, other, 4)}
        if height != other:
            with pytest.raises(ncc.InputError, match="do not take input 'data' of"):
                model.run(feeds)
        else:
            np.testing.assert_array_equal(model.run(feeds)["out"], feeds["data"] + feeds["more"])


def test_an_array_of_a_known_shape_is_checked(tmp_path: Path) -> None:
    """Its type and its strides may be others than those of the last call."""
    model, x = made(tmp_path, ONE), image(3, 8, 8)
    wanted = model(x)
    np.testing.assert_array_equal(model(np.asfortranarray(x)), wanted)
    with pytest.raises(ncc.InputError, match="float32"):
        model(x.astype(np.float64))


def test_each_call_counts_as_a_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also one at the shape of the call before."""
    monkeypatch.setattr(specialise, "MOST_KEPT", 2)
    model, x = made(tmp_path, ONE), image(3, 2, 2)
    model.reason = "a test wants it so"
    kept = model.compiled({"data": x.shape})
    model(x)
    model.compiled({"data": (3, 4, 4)})
    model(x)
    model.compiled({"data": (3, 6, 6)})
    assert model.compiled({"data": x.shape}) is kept


def test_a_version_that_is_wrong_for_its_call_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The shape is compiled alone. Others have versions, until many are odd."""
    monkeypatch.setattr(specialise, "MOST_ODD", 3)
    path, file = tmp_path / "net.param", tmp_path / "small.ncc"
    path.write_text(ONE)
    ranged = ncc.compile(path, random_weights=1, input_shapes={"data": (3, (8, 16), None)})
    ranged.save(file)
    asked = []

    def in_range(shapes: Any, hints: Any) -> Artifact:
        asked.append(hints["data"][1])
        return Artifact.load(file)

    model = OpenModel(
        lambda shapes, _: ncc.compile(path, random_weights=1, input_shapes=shapes).artifact,
        in_range,
        lambda shapes, values: None,
        [OpenBinding.of("data", (3, None, None))],
        ["out"],
        target="host",
        num_threads=1,
    )
    for size in (64, 65, 64, 12):
        assert model(image(3, size, 64)).shape == (8, size, 64)
    assert asked == [64, 65, 76]  # each shape once, and a small one with a larger hint
    assert model.reason is None and len(model._versions.models) == 1
    model(image(3, 66, 64))
    assert model.reason is not None and "is right for those of a call" in model.reason


def test_a_call_that_another_thread_closes_leaves_nothing_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the version of the call is none of those that are kept any more."""
    model, x = made(tmp_path, ONE), image(3, 8, 8)
    model(image(3, 9, 9))
    is_for = ncc.Model.is_for

    def closed_meanwhile(version: ncc.Model, shapes: Any) -> bool:
        model._versions.models.clear()
        model.close()
        return is_for(version, shapes)

    monkeypatch.setattr(ncc.Model, "is_for", closed_meanwhile)
    model(x)
    with pytest.raises(ncc.NccError, match="closed"):
        model(x)


def test_a_file_is_for_all_shapes_where_none_is_said(tmp_path: Path) -> None:
    """Within the ranges; the file is that of `ncc compile`."""
    path = tmp_path / "net.param"
    path.write_text(ONE)
    shape = 3, None, (4, 30)
    open_model = ncc.compile(path, random_weights=1, input_shapes={"data": shape})
    open_model.save(tmp_path / "net.ncc")
    with ncc.load(tmp_path / "net.ncc") as model:
        assert model.inputs[0].extents == "3x?x4..30"
        for x in (image(3, 8, 9), image(3, 40, 30)):
            np.testing.assert_allclose(model(x), open_model(x), rtol=1e-5, atol=1e-5)


def test_what_cannot_be_for_all_shapes_is_saved_for_one(tmp_path: Path) -> None:
    """The error says why, and a file for given shapes can be written."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nSPP p 1 1 data out 0=0 1=2\n")
    model = ncc.compile(path, input_shapes={"data": (3, None, None)})
    with pytest.raises(ncc.Unsupported, match="SPP"):
        model.save(tmp_path / "net.ncc")
    assert isinstance(model, OpenModel)
    model.save(tmp_path / "net.ncc", {"data": (3, 8, 8)})
    assert ncc.load(tmp_path / "net.ncc").inputs[0].shape == (3, 8, 8)


def test_an_empty_image_is_refused(tmp_path: Path) -> None:
    """Before anything is compiled, also where not even the number of axes is known."""
    model = made(tmp_path, ONE)
    for shape in ((3, 0, 8), (3, 8, 0), (0, 8, 8), (0,)):
        with pytest.raises(ncc.InputError, match="which has no elements$"):
            model(image(*shape))
    assert not model._versions.models


def test_the_shape_of_the_file_is_no_form_of_a_larger_image(tmp_path: Path) -> None:
    """The layers say what they want of an image: the file's size is not the only one that fits."""
    path = tmp_path / "net.param"
    path.write_text(EVEN)
    model = ncc.compile(path, random_weights=1, input_shapes={"data": (3, None, None)})
    assert model(image(3, 8, 8)).shape == (3, 8, 8)
    with pytest.raises(ncc.InputError, match=r"layer 'add' \(BinaryOp\)"):
        model(image(3, 9, 9))


def test_a_file_whose_layers_take_no_shape_is_at_fault(tmp_path: Path) -> None:
    """Whatever a caller feeds."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nConvolution a 1 1 data a 0=4 1=3 6=72\n")
    model = ncc.compile(path, random_weights=1, input_shapes={"data": (3, None, None)})
    with pytest.raises(ncc.ModelError, match=r"layer 'a' \(Convolution\)"):
        model(np.zeros((3, 8, 8), np.float32))
