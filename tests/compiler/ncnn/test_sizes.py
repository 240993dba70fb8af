"""What memory has no room for is said of every layer, where it stands, before anything is made."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ncc
from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn import sizes
from ncc.compiler.ncnn.convert_to_linalg import expand_network
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import LAYERS, WeightAttr
from ncc.dialects.ncnn.network import Network
from ncc.runtime import memory_limit
from tests.conftest import build_layer
from tests.crossed import in_turn
from tests.samples import SAMPLES, Sample

MEMORY, SECONDS = 600_000_000, 120
"""What a compilation may take."""

HUGE = [2**31 - 1, 2**31 - 2, 2**30, 10**9, 10**8, 10**7, 2**24, 2**20, 65537, 46341, 3000, 300]
"""Extents and params: up to the largest that a file can say, and such as have a square near it."""

LEAST = [-(2**31), -233, -2]
"""Params below what any size is."""

Ask: TypeAlias = Callable[[Sample, int], str]


@contextmanager
def _asking() -> Iterator[Ask]:
    command = [sys.executable, "-m", "tests.compiler.ncnn.limited", str(MEMORY), str(SECONDS)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[3],
    ) as worker:
        assert worker.stdin is not None and worker.stdout is not None

        def ask(sample: Sample, level: int) -> str:
            types = zip(sample.names, sample.elements, strict=True)
            request = {
                "text": sample.text(),
                "shapes": dict(zip(sample.names, sample.inputs, strict=True)),
                "types": {name: element for name, element in types if element != "float32"},
                "level": level,
            }
            assert worker.stdin is not None and worker.stdout is not None
            print(json.dumps(request), file=worker.stdin, flush=True)
            return worker.stdout.readline().strip()

        yield ask
        worker.stdin.close()


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """ask(sample, level): what comes of a compilation that may have little memory."""
    with _asking() as found:
        yield found


@st.composite
def grown(draw: st.DrawFn, sample: Sample) -> Sample:
    """The sample with up to three huge numbers, as extents of what it reads or as params."""
    shapes, params = [list(shape) for shape in sample.inputs], list(sample.params)
    places: list[tuple[list[Any], int, int]] = [
        (shapes, k, axis) for k, shape in enumerate(shapes) for axis in range(len(shape))
    ]
    for k, (_, value) in enumerate(params):
        places += [(params, k, place) for place in range(value.count(",") + 1)]
    indices = st.lists(st.integers(0, len(places) - 1), min_size=1, max_size=3, unique=True)
    for held, k, place in map(places.__getitem__, draw(indices)):
        if held is shapes:
            shapes[k][place] = draw(st.sampled_from(HUGE))
            continue
        key, value = params[k]
        words = value.split(",")
        number = draw(st.sampled_from([*HUGE, *LEAST]))
        words[place] = f"{float(number)}" if "." in words[place] else str(number)
        params[k] = key, ",".join(words)
    return replace(sample, params=tuple(params), inputs=tuple(map(tuple, shapes)))


def try_all(ask: Ask, type: str, examples: int) -> None:
    """Compile a type with huge numbers: it is done, or refused by an error that is no bug."""

    @settings(max_examples=examples)
    @given(grown(SAMPLES[type]), st.sampled_from([0, 2, 3]))
    def end_well(sample: Sample, level: int) -> None:
        answer = ask(sample, level)
        assert answer and not answer.startswith("BAD"), f"{answer}\n{sample.text()}{sample.inputs}"

    end_well()


def test_there_is_a_sample_of_every_layer() -> None:
    """No type goes without huge numbers."""
    assert SAMPLES.keys() == LAYERS.keys()


@pytest.mark.slow
def test_samples_compile_as_they_are(ask: Ask) -> None:
    """In the memory in which they are tried with huge numbers."""
    answers = {type: ask(sample, 2) for type, sample in SAMPLES.items()}
    assert set(answers.values()) == {"ok"}


@pytest.mark.parametrize("type", in_turn(SAMPLES, 4))
def test_huge_numbers(type: str, ask: Ask) -> None:
    """Of any kind, in any layer."""
    try_all(ask, type, 2)


@pytest.mark.slow
@pytest.mark.parametrize("type", SAMPLES)
def test_more_huge_numbers(type: str, ask: Ask) -> None:
    """The same, longer."""
    try_all(ask, type, 60)


EXTREME = [
    pytest.param("SDPA : 1048576x512x8 1048576x512x8 1048576x512x8", "ok", marks=pytest.mark.slow),
    ("CopyTo 0=1 1=1 2=1 : 16777216x5x3000 2x2x3", "ok"),
    ("MatMul 0=0 : 4x5 12x5x1073741824", "ok"),
    ("Deconvolution1D 0=1 1=2 2=2147483647 3=1 4=1 5=1 6=2 20=46341 : 1x9", "ok"),
    ("Deconvolution1D 0=1 1=100000 3=100000 6=100000 : 1x9", "Unsupported.* 100000 phases"),
    ("Deconvolution 0=1 1=100 3=100 6=10000 : 1x9x9", "Unsupported.* 10000 phases"),
    ("Fold 1=100 3=100 20=900 : 10000x81", "Unsupported.* 10000 phases"),
    ("Reshape 0=2 1=2 2=-1 13=0 : 100000x3x4", "Unsupported.* a batch of 300000 samples"),
    ("SPP 0=0 1=2147483647 : 2x100x100", "ModelError"),
    ("Pooling 0=1 1=3 2=2 3=1 : 3x60000x60000", "ok"),
    ("Padding 0=2 1=1 2=3 3=2 4=2 : 2147483647x8x9", "ok"),
]
"""What takes much memory or many steps where a compiler makes something for each of many."""


@pytest.mark.parametrize(("line", "answer"), EXTREME)
def test_what_is_made_has_bounds(line: str, answer: str, ask: Ask) -> None:
    """It is made otherwise, or refused by what there is too much of."""
    assert re.match(answer, ask(Sample.of(line), 2))


NETWORKS = {
    "Input x 0 1 x 0=2147483647 1=2147483647 2=2147483647\nPooling a 1 1 x y 0=1 4=1": (
        "3:7: error: layer 'x' (Input): no memory holds the result, which would be "
        "2147483647x2147483647x2147483647"
    ),
    "Input x 0 1 x 0=8 1=2000000000\nTile a 1 1 x y 0=1 1=2000000000": (
        "4:6: error: layer 'a' (Tile): no memory holds the result, which would be "
        "2000000000x16000000000"
    ),
    "Input x 0 1 x 0=9 1=9 2=9\nPooling a 1 1 x y 0=0 1=1 2=2000000000 3=1000000000": (
        "4:9: error: layer 'a' (Pooling): no memory holds a step to the result, which would be "
        "9x4000000001x4000000001"
    ),
    "Input x 0 1 x 0=2147483647 1=1\nInterp a 1 1 x y 0=2 1=0.7 2=0.7": (
        "4:8: error: layer 'a' (Interp): no memory holds its tables, which would be of 6012954112 "
        "numbers"
    ),
    "Input x 0 1 x 0=100000000 1=1\nFlip a 1 1 x y -23300=1,1": (
        "4:6: error: layer 'a' (Flip): no memory holds its tables, which would be of 100000000 "
        "numbers"
    ),
    "Input x 0 1 x 0=7\nInnerProduct a 1 1 x y 0=100000000 2=700000000": (
        "4:1: error: no memory holds the random weights up to 'weight' of InnerProduct 'a', which "
        "is 100000000x7"
    ),
}
"""What a machine of a gigabyte says of a file: where the layer stands, and what is too large."""


@pytest.mark.parametrize("text", NETWORKS)
def test_what_is_said(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the line and column of the layer, without advice that would not help."""
    monkeypatch.setattr(memory_limit, "at_hand", lambda: 1 << 30)
    path, lines = tmp_path / "net.param", text.splitlines()
    path.write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
    with pytest.raises(ModelError) as caught:
        ncc.compile(path, random_weights=0)
    [problem] = caught.value.problems
    assert str(problem).splitlines()[0] == f"{path}:{NETWORKS[text]}"
    assert problem.how is None


@pytest.mark.slow
def test_tables_take_a_part_of_the_memory_at_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The more there is, the larger they may be; few are never asked about."""
    few, many = (build_layer("Flip", {"axes": (0,)}, [np.empty(1)], [], 1) for _ in range(2))
    monkeypatch.setattr(memory_limit, "at_hand", lambda: 10**9)
    most = 10**9 // sizes.PART // sizes.BYTES
    sizes.check_sizes(many, [(most,)], [(most,)])
    with pytest.raises(sizes.TooLarge, match=f"of {most + 1} numbers"):
        sizes.check_sizes(many, [(most + 1,)], [(most + 1,)])
    monkeypatch.setattr(memory_limit, "at_hand", lambda: 0)
    sizes.check_sizes(few, [(sizes.FEW,)], [(sizes.FEW,)])


MORE = [
    *("Interp 0=1 3=9 4=11", "Interp 0=3 3=9 4=11", "Interp 0=1 1=2.0 2=2.0", "Interp 0=2 3=4 4=6"),
    *("Padding 0=2 1=1 2=3 3=2 4=1 : 3x8x9", "Padding 0=2 1=1 2=3 3=2 4=0", "Padding 2=1 6=3 4=0"),
    *("Pooling 0=1 7=1 8=3 18=5 : 3x8x9", "Pooling 0=1 7=1 8=3 : 3x6x9", "Pooling 0=0 1=3 3=1"),
    *("Pooling 0=1 1=3 2=2 3=1 6=1 : 3x8x9", "Pooling 0=1 4=1", "Pooling 0=1 7=1 8=-233 18=3"),
    *("Pooling3D 0=1 1=2 2=2 3=1 : 3x5x6x7", "Spectrogram 0=8 1=0 6=0 : 40"),
    *("Spectrogram 0=8 8=0 5=0 : 40", "InverseSpectrogram 0=8 1=1 2=20 : 8x9x2"),
    "PriorBox -23300=2,8.0,9.0 9=-233 10=-233 11=-233.0 12=-233.0",
    *("ArgMax 1=9", "ArgMax : 24", "Flip -23300=3,0,1,2 : 3x4x6"),
]
"""Other ways of layers that make tables."""


@pytest.mark.parametrize(
    "sample", [*SAMPLES.values(), *map(Sample.of, MORE)], ids=lambda sample: sample.text()
)
@pytest.mark.slow
def test_layers_say_how_large_their_tables_are(
    sample: Sample, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an expansion hands to `table` is no more than `tables` says, the numbers of weights, and
    what params hold.
    """
    made: list[int] = []
    monkeypatch.setattr(sizes, "FEW", 0)
    table = Builder.table

    def counted(self: Builder, array: Any) -> Tensor:
        made.append(array.size)
        return table(self, array)

    monkeypatch.setattr(Builder, "table", counted)
    path = tmp_path / "net.param"
    path.write_text(sample.text())
    module = read(path, random_weights=0).module
    given = dict(zip(sample.names, sample.inputs, strict=True))
    infer_shapes(module, given, dict(zip(sample.names, sample.elements, strict=True)))
    network = Network.of(module)
    [layer] = [op for op in network.layers if op.type_name == sample.type]
    weights = [a for a in layer.properties.values() if isinstance(a, WeightAttr)]
    held = sum(prod(weight.shape) for weight in weights)
    params = sum(value.count(",") + 1 for _, value in sample.params)
    expand_network(network)
    said = layer.tables(*sample.inputs)
    assert sum(made) <= said + held + (36 if sample.type == "Proposal" else params)
