"""Arrays for a run: from files, and made up."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.feeds import random_feeds, read_arrays
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
        with pytest.raises(InputError, match=name):
            read_arrays({"data": tmp_path / name})
