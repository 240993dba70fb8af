"""Weights of float16 are read as such where they are waited for, and change no bit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f16, f32

import ncc
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.data_types.narrow_weights import NarrowWeights
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.target import AVX2, AVX512, BASELINE, TWO_UNITS, Target
from ncc.dialects.code import CodeOp
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.file_format import TAGS
from ncc.dialects.ncnn.recurrent.recurrent_steps import add_product
from ncc.dialects.scalar import clamp, to_index
from ncc.dialects.statements import Code
from ncc.dialects.weights.stored import Encoding
from ncc.dialects.weights.weight import ConstantOp, WeightAttr
from tests.compiler.linalg.reasons import reasons
from tests.compiler.linalg.same_numbers import after, marked
from tests.crossed import crossed
from tests.runnable import NAMES

Array: TypeAlias = np.ndarray[Any, Any]
Read: TypeAlias = Callable[..., list[list[Any]]]

POINTS = AVX512.costs.data_types.most_points_of_float16
INPUTS = 256
"""So many that even a block of weights is more than a first-level cache holds by 64 lines."""

SMALL = TWO_UNITS.l1_bytes // (4 * 16)


def drawn(*shape: int, scale: float = 0.25) -> WeightAttr:
    return WeightAttr.of(np.random.default_rng(1).integers(-7, 8, shape) * scale)


def product(weight: WeightAttr) -> Callable[[Builder, Tensor], Tensor]:
    """x (points, inputs) times weights in blocks."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(weight)
        p, o, k, lane = b.loops("p o k l")
        return b.sum((p, o, lane), over=(k,), of=x[p, k] * w[o, k, lane])

    return write


@pytest.fixture
def read(make_network: Callable[..., ModuleOp]) -> Read:
    """The element types of what each sum reads; the numbers stay the same."""

    def rewritten(
        write: Callable[..., Tensor], *shapes: tuple[int, ...], target: Target = AVX512
    ) -> list[list[Any]]:
        views = after(make_network(list(shapes), write), NarrowWeights(target))
        return [
            [element_of(read.value) for read in linalg_op.reads]
            for linalg_op in views
            if linalg_op.reduced
        ]

    return rewritten


@pytest.mark.parametrize("target", [AVX512, AVX2], ids=lambda target: target.name)
@pytest.mark.parametrize("points", [1, POINTS])
def test_few_points(read: Read, target: Target, points: int) -> None:
    """A matrix of halves, for a vector or a few of them."""
    assert read(product(drawn(4, INPUTS, 16)), (points, INPUTS), target=target) == [[f32, f16]]


@pytest.mark.parametrize(
    "weight", [drawn(4, INPUTS, 16, scale=0.1), drawn(1, SMALL, 16)], ids=["others", "few"]
)
def test_other_weights_stay(read: Read, weight: WeightAttr) -> None:
    """What is no float16, and what a first-level cache holds."""
    assert read(product(weight), (1, weight.shape[1])) == [[f32, f32]]


def test_many_points_stay(read: Read, make_network: Callable[..., ModuleOp]) -> None:
    """Each few of them would widen all weights again."""
    write, shape = product(drawn(4, INPUTS, 16)), (POINTS + 1, INPUTS)
    assert read(write, shape) == [[f32, f32]]
    [reason] = reasons(NarrowWeights(), make_network([shape], write))
    assert reason == f"more than {POINTS} points share each of its weights"


def test_the_reason_is_that_of_the_weights(make_network: Callable[..., ModuleOp]) -> None:
    """They have other numbers; of small ones there is nothing to tell."""
    others, few = drawn(4, INPUTS, 16, scale=0.1), drawn(1, SMALL, 16)
    module = make_network([(1, INPUTS)], product(others))
    assert reasons(NarrowWeights(), module) == ["its weights are not all float16"]
    assert not NarrowWeights().explain(make_network([(1, SMALL)], product(few)))


def test_no_instruction(read: Read) -> None:
    """To widen by a formula takes longer than to read."""
    weight = drawn(4, INPUTS, 16)
    assert read(product(weight), (1, INPUTS), target=BASELINE) == [[f32, f32]]


@pytest.mark.parametrize("other", [1, POINTS + 1])
def test_all_readers_count(read: Read, other: int) -> None:
    """Weights are kept once: as float16 if that suits all that read them."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        w = b.weight(drawn(4, INPUTS, 16))
        sums = []
        for z in (x, y):
            p, o, k, lane = b.loops("p o k l")
            sums.append(b.sum((p, o, lane), over=(k,), of=z[p, k] * w[o, k, lane]))
        p, o, lane = b.loops_of(sums[1].shape)
        return b.map((p, o, lane), sums[0][0, o, lane] + sums[1][p, o, lane])

    kind = f16 if other == 1 else f32
    assert read(write, (1, INPUTS), (other, INPUTS)) == [[f32, kind]] * 2


def test_factors_that_are_read_otherwise_stay(read: Read) -> None:
    """What else reads them has no use for float16."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(drawn(4, INPUTS, 16))
        p, o, k, lane = b.loops("p o k l")
        y = b.sum((p, o, lane), over=(k,), of=x[p, k] * w[o, k, lane])
        p, o, lane = b.loops_of(y.shape)
        return b.map((p, o, lane), y[p, o, lane] + w[o, 0, lane])

    assert read(write, (1, INPUTS)) == [[f32, f32]]


@pytest.mark.parametrize("alone", [True, False])
def test_code_that_multiplies(make_network: Callable[..., ModuleOp], alone: bool) -> None:
    """Memory is of float16 where all that is loaded of it are factors in lanes."""

    def write(b: Builder, x: Tensor) -> Tensor:
        code = Code([x, b.weight(drawn(INPUTS, 64))], [((64,), f32)])
        (given, weights), [made] = code.inputs, code.results
        with code.lanes(64) as j:
            made[j] = 0.0
        add_product(code, [made], [given], weights)
        if not alone:
            made[0] = weights[0, 0]
        return b.code(code.operation())[0]

    module = make_network([(INPUTS,)], write)
    NarrowWeights().apply(Context(), module)
    module.verify()
    [code] = [op for op in network_of(module).body.block.ops if isinstance(op, CodeOp)]
    kinds = [arg.type.element_type for arg in code.body.block.args]  # type: ignore[attr-defined]
    assert kinds == [f32, f16 if alone else f32, f32]


def constants(module: ModuleOp) -> list[Any]:
    """The element types of what the network holds, behind the pass, which changes no number."""
    after(module, NarrowWeights())
    ops = network_of(module).body.block.ops
    return [element_of(op.result) for op in ops if isinstance(op, ConstantOp)]


def rows(b: Builder, x: Tensor, table: Tensor) -> Tensor:
    """Those that x names."""
    p, j = b.loops_of((x.shape[0], table.shape[1]))
    return b.map((p, j), table.at(to_index(clamp(x[p], 0.0, 9.0)), b.index(j)) + 0.5)


def test_rows_of_a_table(make_network: Callable[..., ModuleOp]) -> None:
    """They are taken as they are, but by operations that say what holds of them alone."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return rows(b, x, b.weight(drawn(INPUTS, 64)))

    assert constants(make_network([(5,)], write)) == [f16]
    assert constants(marked(make_network([(5,)], write))) == [f32]


def test_columns_of_a_table_stay(make_network: Callable[..., ModuleOp]) -> None:
    """What is taken here and there is a gather of channels."""

    def write(b: Builder, x: Tensor) -> Tensor:
        table = b.weight(drawn(INPUTS, 64))
        p, j = b.loops_of((INPUTS, 5))
        return b.map((p, j), table.at(b.index(p), to_index(clamp(x[j], 0.0, 9.0))) + 0.5)

    assert constants(make_network([(5,)], write)) == [f32]


def test_factors_that_are_not_summed_stay(make_network: Callable[..., ModuleOp]) -> None:
    """Each is read once, whatever it is multiplied by."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(drawn(INPUTS, 64))
        p, j = b.loops_of((INPUTS, 64))
        return b.map((p, j), x[j] * w[p, j])

    assert constants(make_network([(64,)], write)) == [f32]


# --- machine code ------------------------------------------------------------------------------

LAYERS = """7767517
7 8
Input        x  0 1 x 0={columns} 1={rows} 2=96
Convolution  a  1 1 x s 0=200 1=1 5=1 6=19200 9=1
Split        s  1 2 s a t
Convolution  b  1 1 a b 0=72 1=3 4=1 5=1 6=129600
Convolution  c  1 1 b c 0=40 1=1 4=1 5=0 6=2880
InnerProduct d  1 1 t d 0=40 1=1 2={inner}
InnerProduct e  1 1 d e 0=1000 1=1 2=40000
"""

FORMING = """7767517
2 2
Input        x  0 1 x 0=7 1=7 2=512
Convolution  a  1 1 x a 0=512 1=3 4=1 5=1 6=2359296 9=1
"""


WORDS = """7767517
2 2
Input  x  0 1 x 0=5
Embed  a  1 1 x a 0={outputs} 1=900 2=0 3={size}
"""

STEPS = """7767517
2 2
Input  x  0 1 x 0=24 1=5
LSTM   a  1 1 x a 0={hidden} 1={size} 2=2
"""


def network(
    folder: Path, text: str, counts: list[tuple[int, int]], numbers: Callable[[int], Array]
) -> list[Path]:
    """A .param, and two .bin of the same numbers: of float32 and of float16."""
    param = folder / "net.param"
    param.write_text(text)
    tag = TAGS[Encoding.FP16].to_bytes(4, "little")
    wide, narrow = folder / "wide.bin", folder / "narrow.bin"
    with wide.open("wb") as one, narrow.open("wb") as other:
        for count, biases in counts:
            halves, bias = numbers(count).astype(np.float16), numbers(biases).astype("<f4")
            one.write(bytes(4) + halves.astype("<f4").tobytes() + bias.tobytes())
            held = halves.tobytes()
            other.write(tag + held + bytes(-len(held) % 4) + bias.tobytes())
    return [param, wide, narrow]


def ordinary(count: int) -> Array:
    return np.random.default_rng(count).normal(0, 0.1, count)


def odd(count: int) -> Array:
    """Denormal numbers among others, and at times what is no number."""
    numbers = ordinary(count)
    numbers[::3] *= 2.0**-18
    numbers[5::9001] = np.inf
    numbers[7::12007] = np.nan
    return numbers


WEIGHTS_AND_IMAGES = [
    (odd, (1, 1)),
    (ordinary, (4, 5)),
    (odd, (4, 5)),
    (ordinary, (1, 1)),
]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # of weights that are none
@pytest.mark.parametrize(
    ("target", "case"), crossed(NAMES, range(len(WEIGHTS_AND_IMAGES)), usual=2)
)
def test_no_bit_changes(tmp_path: Path, case: int, target: str) -> None:
    """Whatever the file says the numbers are, and however they are read."""
    numbers, size = WEIGHTS_AND_IMAGES[case]
    rows, columns = size
    inner = 40 * 200 * rows * columns
    text = LAYERS.format(rows=rows, columns=columns, inner=inner)
    counts = [(19200, 200), (129600, 72), (2880, 0), (inner, 40), (40000, 1000)]
    files = network(tmp_path, text, counts, numbers)
    check(files, ordinary(96 * rows * columns).reshape(96, *size), target)


@pytest.mark.skipif("avx512" not in NAMES, reason="this CPU has no AVX-512")
def test_weights_that_a_run_transforms(tmp_path: Path) -> None:
    """Few tiles of an image, and many channels."""
    files = network(tmp_path, FORMING, [(2359296, 512)], ordinary)
    check(files, ordinary(512 * 49).reshape(512, 7, 7), "avx512")


@pytest.mark.parametrize(("target", "hidden"), crossed(NAMES, [96, 75], usual=1))
def test_steps_of_a_sequence(tmp_path: Path, hidden: int, target: str) -> None:
    """In whole vectors, and with some lanes left over; of two directions."""
    size = 4 * hidden * 24
    counts = [(2 * size, 0), (8 * hidden, 0), (8 * hidden * hidden, 0)]
    files = network(tmp_path, STEPS.format(hidden=hidden, size=2 * size), counts, ordinary)
    check(files, ordinary(5 * 24).reshape(5, 24), target)


@pytest.mark.parametrize(("target", "outputs"), crossed(NAMES, [27, 64], usual=2))
def test_words(tmp_path: Path, outputs: int, target: str) -> None:
    """Rows of a table, whose extent is one of whole vectors or not."""
    size = 900 * outputs
    files = network(tmp_path, WORDS.format(outputs=outputs, size=size), [(size, 0)], odd)
    check(files, np.array([3, 899, 0, -7, 1000], np.int32), target)


def test_words_that_signal(tmp_path: Path) -> None:
    """A signaling NaN that no sum takes in stays one: such a table is float32."""
    files = network(tmp_path, WORDS.format(outputs=64, size=57600), [(57600, 0)], ordinary)
    halves = bytearray(files[2].read_bytes())
    halves[4:6] = b"\x01\x7d"
    files[2].write_bytes(halves)
    found = ncc.compile(files[0], files[2]).run({"x": np.zeros(5, np.int32)})["a"]
    wanted = np.frombuffer(halves, np.float16, 64, 4).astype(np.float32)
    assert found[0].tobytes() == wanted.tobytes()


def check(files: list[Path], x: Array, target: str) -> None:
    """Both files make the same bits on one thread and on two, and as float32 they do."""
    param, wide, narrow = files
    x = x if x.dtype == np.int32 else x.astype(np.float32)

    def compiled(file: Path, threads: int = 1) -> ncc.Model:
        return ncc.compile(param, file, target=target, num_threads=threads)

    def size_of(model: ncc.Model) -> int:
        model.save(path := param.parent / "net.ncc")
        return path.stat().st_size

    models = [compiled(file, threads) for file in (wide, narrow) for threads in (1, 2)]
    found = [model.run({"x": x}) for model in models]
    found_target = Target.of(target)
    wide_only = replace(found_target, features=found_target.features - {"f16c"})
    plain = ncc.Model(artifact_of(Compilation(param, wide, Options(target=wide_only))))
    wanted = plain.run({"x": x})
    for outputs in found:
        for name, values in wanted.items():
            assert outputs[name].tobytes() == values.tobytes()
    smaller = 0.95 * size_of(plain)
    assert {size_of(model) < smaller for model in models} == {target != "baseline"}
