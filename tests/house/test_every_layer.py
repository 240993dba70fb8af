"""Every layer says all that a layer must say."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import ncc.dialects.ncnn
from ncc.dialects.ncnn.layer import LAYERS, Layer

FAMILIES = Path(__file__).parents[2] / "dialects" / "ncnn"
TESTS = Path(__file__).parents[1] / "dialects" / "ncnn"

ROWS = list(LAYERS.items())
BY_NAME = pytest.mark.parametrize("name, layer", ROWS, ids=[name for name, _ in ROWS])

# What the caller feeds is not computed.
GIVEN = ("Input",)


def test_the_families_fill_the_table() -> None:
    """Importing the dialect declares the layers of every family."""
    assert ncc.dialects.ncnn.__doc__
    assert {"Convolution", "Pooling", "InnerProduct", "Flatten"} <= LAYERS.keys()


@BY_NAME
def test_it_explains_itself(name: str, layer: type[Layer]) -> None:
    """A docstring of its own: what the layer means."""
    assert layer.__doc__ and layer.__doc__ != Layer.__doc__


@BY_NAME
def test_it_has_a_shape_rule(name: str, layer: type[Layer]) -> None:
    """The shapes of its results from the shapes of its operands."""
    assert layer.infer is not Layer.infer


@BY_NAME
def test_it_has_a_meaning_and_an_expansion(name: str, layer: type[Layer]) -> None:
    """What numpy says it is, and what the linalg level says it is."""
    if name in GIVEN:
        pytest.skip("what the caller feeds is not computed")
    assert layer.reference is not Layer.reference
    assert layer.lower is not Layer.lower


@BY_NAME
def test_it_has_a_test(name: str, layer: type[Layer]) -> None:
    """The test file of its family names it."""
    family = Path(inspect.getfile(layer)).resolve().relative_to(FAMILIES)
    tests = TESTS / family.with_name(f"test_{family.name}")
    assert tests.exists(), f"{tests} is missing"
    assert re.search(rf"\b({name}|{layer.__name__})\b", tests.read_text())


@BY_NAME
def test_its_recordings_are_computed(name: str, layer: type[Layer], root: Path) -> None:
    """The table of layers was made since it is there, and nothing had failed."""
    rows = re.findall(rf"^\| {name} \|.*$", (root / "docs" / "layers.md").read_text(), re.M)
    assert len(rows) == 1, f"run pytest --layer-table=docs/layers.md -k {name}"
    assert "failed" not in rows[0]
