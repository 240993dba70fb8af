"""Rows of which a mask hides all keys, by -inf: what each layer of attention makes of them, at
every level and on every target, and what ncnn does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.interpret import interpret
from tests.runnable import NAMES as TARGETS

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, Array]

HIDDEN = 1
"""The row that sees no key."""


@dataclass(frozen=True)
class Attention:
    """A network of one layer of attention, the shapes of its inputs, what a hidden row becomes.

    None: numbers, the biases of the function behind a row of zeros.
    """

    name: str
    layer: str
    shapes: Mapping[str, tuple[int, ...]]
    hidden: float | None
    outputs: int = 1

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.name}.param"
        lines = [f"Input {name} 0 1 {name}" for name in self.shapes]
        blobs = " ".join(["y", "ok", "ov"][: self.outputs])
        kind, params = self.layer.split(" ", 1)
        counts = f"{len(self.shapes)} {self.outputs}"
        lines.append(f"{kind} a {counts} {' '.join(self.shapes)} {blobs} {params}")
        blob_count = len(self.shapes) + self.outputs
        path.write_text("\n".join(["7767517", f"{len(lines)} {blob_count}", *lines, ""]))
        return path

    def feeds(self) -> Feeds:
        draw = np.random.default_rng(0)
        feeds = {n: draw.standard_normal(s, np.float32) for n, s in self.shapes.items()}
        feeds["m"][..., HIDDEN, :] = -np.inf
        feeds["m"][..., HIDDEN + 1, :-1] = -np.inf
        return feeds


def sdpa(name: str, heads: int, groups: int, rows: int, keys: int, params: str = "") -> Attention:
    shapes = {"q": (heads, rows, 8), "k": (groups, keys, 8), "v": (groups, keys, 16)}
    return Attention(name, f"SDPA 5=1 {params}", {**shapes, "m": (rows, keys)}, 0.0)


def cached(name: str, past: int, params: str = "") -> Attention:
    """An SDPA behind keys of earlier runs."""
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys("qkv", (2, 5, 8))
    shapes |= {"m": (5, past + 5), "ck": (2, past, 8), "cv": (2, past, 8)}
    return Attention(name, f"SDPA 5=1 7=1 {params}", shapes, 0.0, outputs=3)


def multi_head(name: str, params: str, hidden: float | None, heads: bool = False) -> Attention:
    mask = (2, 6, 6) if heads else (6, 6)
    layer = f"MultiHeadAttention 0=8 1=2 2=64 3=8 4=8 5=1 {params}"
    return Attention(name, layer, {"q": (6, 8), "m": mask}, hidden)


OF_FLOATS = [
    sdpa("short", 2, 2, 5, 7),
    sdpa("shared", 4, 2, 5, 7),
    sdpa("long_rows", 2, 2, 5, 70),
    sdpa("parts", 2, 1, 400, 400),
    sdpa("scaled", 2, 2, 5, 7, "6=0.3"),
    cached("cached", 6),
    multi_head("multi_head", "", np.nan),
    multi_head("multi_head_masks", "", np.nan, heads=True),
]
OF_INT8 = [
    sdpa("int8", 2, 2, 5, 8, "18=1"),
    sdpa("int8_long_rows", 4, 2, 5, 72, "18=1"),
    cached("int8_cached", 6, "18=1"),
    multi_head("int8_multi_head", "18=2", None),
]
CASES = [*OF_FLOATS, *OF_INT8]
LEVELS = range(4)


def ways() -> Iterator[Any]:
    """Of each case a level, on targets in turn, and two of three are slow; so are all on all."""
    for place, case in enumerate(CASES):
        level = LEVELS[place % len(LEVELS)]
        target = TARGETS[(place + place // len(LEVELS)) % len(TARGETS)]
        marks = pytest.mark.slow if place % 3 else ()
        yield pytest.param(case, [(level, target)], id=case.name, marks=marks)
        every = list(product(LEVELS, TARGETS))
        yield pytest.param(case, every, id=f"{case.name}-every", marks=pytest.mark.slow)


def of_hidden(case: Attention, y: Array) -> Array:
    """The hidden row of a result, of all heads."""
    return y[HIDDEN] if case.layer.startswith("Multi") else y[:, HIDDEN]


def check(case: Attention, y: Array) -> None:
    """A result has in its hidden row what the case says, and numbers everywhere else."""
    row, numbers = of_hidden(case, y), np.isfinite(y)
    if case.hidden is not None:
        np.testing.assert_array_equal(row, np.full_like(row, case.hidden))
        of_hidden(case, numbers)[:] = True
    assert numbers.all()


@pytest.mark.parametrize(("case", "ways"), ways())
def test_every_level_and_target(
    case: Attention, ways: list[tuple[int, str]], tmp_path: Path
) -> None:
    """A hidden row is what the layer makes of it; the others are as the references say."""
    path, feeds = case.write(tmp_path), case.feeds()
    expected = interpret(read(path, None, random_weights=1).module, feeds)["y"]
    check(case, expected)
    options: dict[str, Any] = {"random_weights": 1, "input_shapes": case.shapes}
    for level, target in ways:
        model = ncc.compile(path, opt_level=level, target=target, **options)
        found, way = model.run(feeds)["y"], f"-O{level}, {target}"
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4, err_msg=way)


@pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
@pytest.mark.slow
def test_ncnn_does_the_same(tmp_path: Path) -> None:
    """Without a cache, whose keys have a layout of its own.

    In int8 it makes whole numbers of NaN, which gives 0, but NaN for rows of three keys; of int8
    the rows that are hidden are compared alone, since other ones are rounded at other places.
    """
    cases = [case for case in (*OF_FLOATS, *OF_INT8[:2]) if case.outputs == 1]
    jobs = []
    for case in cases:
        made = tmp_path / case.name
        made.mkdir()
        ncc.optimize(case.write(tmp_path), "null", made / "net.param", made / "net.bin")
        jobs.append(oracle.Job(made / "net.param", made / "net.bin", case.feeds(), ["y"]))
    for case, job, answer in zip(cases, jobs, oracle.run_all(jobs), strict=True):
        assert not isinstance(answer, oracle.OracleError), f"{case.name}: {answer}"
        found = ncc.compile(job.param, input_shapes=case.shapes).run(case.feeds())["y"]
        check(case, answer["y"])
        if case in OF_FLOATS:
            np.testing.assert_allclose(found, answer["y"], rtol=1e-3, atol=1e-4, err_msg=case.name)


def test_written_out_attention_becomes_an_sdpa_and_its_zeros(tmp_path: Path) -> None:
    """A softmax of its own makes NaN of a hidden row; joined with its products it makes 0.

    From -O2 on, where layers that become one may differ in what is not finite (docs/accuracy.md).
    """
    path = tmp_path / "written.param"
    shapes = {"q": (2, 520, 8), "k": (2, 520, 8), "v": (2, 520, 8), "m": (1, 520, 520)}
    layers = [
        *(f"Input {name} 0 1 {name}" for name in shapes),
        "MatMul scores 2 1 q k s 0=1",
        "BinaryOp masked 2 1 s m t 0=0",
        "Softmax shares 1 1 t p 0=2 1=1",
        "MatMul mixed 2 1 p v y",
    ]
    path.write_text("\n".join(["7767517", f"{len(layers)} {len(layers)}", *layers, ""]))
    feeds = Attention("written", "", shapes, 0.0).feeds()
    expected = interpret(read(path, None, random_weights=0).module, feeds)["y"]
    for level in range(4):
        y = ncc.compile(path, random_weights=0, input_shapes=shapes, opt_level=level).run(feeds)[
            "y"
        ]
        wanted = expected.copy()
        if level >= 2:
            wanted[:, HIDDEN] = 0
        np.testing.assert_allclose(y, wanted, rtol=1e-3, atol=1e-4)
