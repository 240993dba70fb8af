"""Arrays for a run: from files, and made up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.format import MAGIC_PREFIX

from ncc.compiler.feeds import all_feeds, given_arrays, random_feeds, range_of, read_arrays
from ncc.dialects.bfloat16 import from_bfloat16
from ncc.runtime.artifact import Binding
from ncc.runtime.errors import InputError


def test_random_feeds_fit_the_inputs_and_repeat() -> None:
    """The same for the same seed, in -1..1, in shape and type of the input."""
    inputs = [Binding("a", (3, 4)), Binding("b", (100,))]
    first, again, other = (random_feeds(inputs, seed) for seed in (1, 1, 2))
    assert {name: x.shape for name, x in first.items()} == {"a": (3, 4), "b": (100,)}
    assert all(x.dtype == np.float32 for x in first.values())
    assert np.array_equal(first["b"], again["b"]) and not np.array_equal(first["b"], other["b"])
    assert -1 <= first["b"].min() < -0.5 < 0.5 < first["b"].max() <= 1


def test_random_feeds_have_a_range() -> None:
    """That of what the network is made for."""
    [x] = random_feeds([Binding("a", (100,))], 1, (2.0, 4.0)).values()
    assert 2 <= x.min() < 2.5 < 3.5 < x.max() <= 4 and x.dtype == np.float32


@pytest.mark.parametrize(
    "wrong", ["0,1", "01", 3, (1,), (0, 1, 2), (1, 0), (0, "x"), (0.0, np.inf)]
)
def test_what_is_no_range_is_refused(wrong: Any) -> None:
    """numpy would take some of them for something else."""
    with pytest.raises(InputError, match="no range of numbers: expected two numbers"):
        range_of(wrong)


@pytest.mark.parametrize("wrong", ["one", -1, 1.5, None])
def test_what_is_no_seed_is_refused(wrong: Any) -> None:
    """None would be another seed each time."""
    with pytest.raises(InputError, match="no seed for random numbers: expected 0 or more"):
        random_feeds([Binding("a", (1,))], wrong)


@pytest.mark.parametrize("extent", [1 << 30, 1 << 40, 10**20])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_what_no_memory_holds_is_no_random_array(extent: int, dtype: str) -> None:
    """numpy has no number for so many."""
    with pytest.raises(InputError, match=f"no memory holds 'a': .* found 3x{extent}x{extent}"):
        random_feeds([Binding("a", (3, extent, extent), dtype)], 1)


def test_what_is_fed_wins_over_random_numbers() -> None:
    """Any array of a library's; the rest is made up."""
    inputs = [Binding("a", (2,)), Binding("b", (3,))]
    found = all_feeds(inputs, {"b": np.ones(3, np.float32).data}, 1)
    assert found["a"].shape == (2,) and found["b"].tolist() == [1, 1, 1]
    assert all_feeds(inputs, None, 1).keys() == {"a", "b"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("x.npy", "a dict of arrays, found a str"),
        ([np.zeros(3)], "a dict of arrays, found a list"),
        ({"a": "x.npy"}, "input 'a' does not fit: .* no file is read here"),
        ({"a": [1.0]}, r"feed numpy.asarray\(x"),
        ({"a": None}, "found a NoneType"),
    ],
)
def test_what_is_no_array_by_name_is_refused(wrong: Any, said: str) -> None:
    """With what to feed instead."""
    with pytest.raises(InputError, match=said):
        given_arrays(wrong)


def test_random_feeds_of_other_types() -> None:
    """Integers are whole numbers of int8's range; bfloat16 is the bits of numbers in -1..1."""
    inputs = [
        Binding("a", (99,), "int32"),
        Binding("b", (99,), "int8"),
        Binding("c", (9,), "uint16"),
    ]
    a, b, c = random_feeds(inputs, 1).values()
    assert [str(x.dtype) for x in (a, b, c)] == ["int32", "int8", "uint16"]
    assert -127 <= a.min() < -90 < 90 < a.max() <= 127 and b.min() < -90 < 90 < b.max()
    assert np.abs(from_bfloat16(c)).max() <= 1


def test_arrays_come_from_npy_files(tmp_path: Path) -> None:
    """By the name of the blob they are for."""
    np.save(tmp_path / "x.npy", np.arange(3))
    assert read_arrays({"data": tmp_path / "x.npy"})["data"].tolist() == [0, 1, 2]


def test_what_is_no_array_is_refused(tmp_path: Path) -> None:
    """A missing file, text, an archive, and pickled objects, which are never loaded."""
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "empty.npy").touch()
    np.savez(tmp_path / "archive.npz", np.zeros(3))
    np.save(tmp_path / "objects.npy", np.array([{}], object), allow_pickle=True)
    for name in ("none.npy", "text.npy", "empty.npy", "archive.npz", "objects.npy"):
        with pytest.raises(InputError, match=f"{name} cannot be read: ") as info:
            read_arrays({"data": tmp_path / name})
        assert "unsafe" not in str(info.value)


@pytest.mark.parametrize(
    "begin, how",
    [
        (b"7767517\n", "a .param: "),
        (b"", "an empty file: "),
        (b"0 1 2", "no .npy file, as numpy.save writes them, and no image"),
    ],
)
def test_other_files_are_told_by_what_they_are(tmp_path: Path, begin: bytes, how: str) -> None:
    """And what to do with them."""
    (tmp_path / "x").write_bytes(begin + bytes(8 if begin else 0))
    with pytest.raises(InputError, match=how):
        read_arrays({"data": tmp_path / "x"})


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("{'descr': '<f4', 'shape': (3,", "its head is broken"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), ]", "Cannot parse header"),
        ("{'descr': '<f4', 'fortran_order': False, 'shape': (1 << 60,)}", "malformed"),
        (
            f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({1 << 60},)}}",
            "Unable to allocate 4.00 EiB",
        ),
    ],
)
def test_heads_that_are_broken(tmp_path: Path, head: str, reason: str) -> None:
    """The text in which a file says its shape, and shapes that no memory holds."""
    text = head.ljust(117).encode() + b"\n"
    path = tmp_path / "x.npy"
    path.write_bytes(MAGIC_PREFIX + b"\1\0" + len(text).to_bytes(2, "little") + text + bytes(64))
    with pytest.raises(InputError, match=f"x.npy cannot be read: .*{reason}"):
        read_arrays({"data": path})


def test_images_are_read_in_a_range(tmp_path: Path) -> None:
    """Of 0 to 255 where no other is asked for."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    image.fromarray(np.array([[0, 51, 255]], np.uint8)).save(tmp_path / "x.png")
    paths = {"data": tmp_path / "x.png"}
    assert read_arrays(paths)["data"].tolist() == [[[0, 51, 255]]]
    scaled = read_arrays(paths, (-1.0, 1.0))["data"]
    assert scaled.dtype == np.float32
    np.testing.assert_allclose(scaled, [[[-1, -0.6, 1]]], rtol=1e-6)
