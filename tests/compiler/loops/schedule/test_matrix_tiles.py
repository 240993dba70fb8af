"""Contractions on matrix tiles: how they are cut, that they compile, and what they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from math import prod
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.cost_model import CostModel, DataTypes
from ncc.compiler.driver import objects
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.linalg.convolutions.forms import F2, Form
from ncc.compiler.linalg.data_types.split_bf16 import SplitBf16
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.loops.schedule.matrix_tiles import bf16_pairs_of
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.read.read_network import read
from ncc.compiler.target import AMX, TARGETS, Target
from ncc.compiler.verification.interpret import interpret
from ncc.dialects import tile
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime import cpu
from tests.compiler import software_tiles
from tests.compiler.linalg.convolutions.tiled import in_tiles
from tests.compiler.one_by_one import OneByOne
from tests.compiler.tile_cores import FAST, SLOW
from tests.crossed import some

Make: TypeAlias = Callable[..., Any]


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def kernel(
    make_network: Make, kernels_of: Make, outputs: int, inputs: int, size: int, window: int
) -> Kernel:
    """A convolution of bf16 pairs, from planes."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(random(outputs, inputs, window, window)))
        side = size - window + 1
        o, y, z, i, k, m = b.loops(f"o y:{side} z:{side} i k m")
        return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])

    module: ModuleOp = make_network([(inputs, size, size)], write)
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    [found] = [k for k in kernels_of(module) if k.reduced]
    assert isinstance(found, Kernel)
    return found


@pytest.mark.parametrize(
    ("outputs", "inputs", "size", "window", "rows", "p", "q"),
    [
        (64, 64, 58, 3, 14, 2, 2),
        (64, 64, 16, 1, 16, 2, 2),  # all points are one row
        (16, 64, 16, 1, 16, 4, 1),
        (48, 40, 9, 3, 16, 2, 2),  # over the border between rows: 61 indices for 49 points
        (512, 512, 9, 3, 16, 4, 1),
        (32, 32, 16, 3, 14, 2, 2),  # there are too many: 222 for 196
        (512, 2048, 7, 1, 13, 4, 1),  # weights that no cache holds are read once
        (32, 64, 5, 3, 13, 1, 2),
    ],
)
def test_cuts(
    make_network: Make,
    kernels_of: Make,
    outputs: int,
    inputs: int,
    size: int,
    window: int,
    rows: int,
    p: int,
    q: int,
) -> None:
    """Rows that divide well, sums in four tiles at most, and chunks that cover all of it."""
    found = kernel(make_network, kernels_of, outputs, inputs, size, window)
    pairs = bf16_pairs_of(found)
    schedule = choose(found, AMX)
    assert pairs is not None
    vectors = 1 if pairs.vectors is None else schedule.points(pairs.vectors)
    assert (schedule.points(pairs.points[-1]), schedule.tiles, vectors) == (rows, p, q)
    assert p * q <= len(tile.SUMS)
    points = prod(found.extents[d] for d in pairs.points)
    done = chunk_count(found, schedule) * p * q * rows * 16
    assert points * outputs <= done


@pytest.mark.parametrize(("channels", "size", "wanted"), [(384, 11, True), (64, 11, False)])
def test_weights_are_asked_for(
    make_network: Make, kernels_of: Make, channels: int, size: int, wanted: bool
) -> None:
    """Those of the next blocks of outputs, if all weights exceed L2."""
    found = kernel(make_network, kernels_of, channels, channels, size, 3)
    schedule, pairs = choose(found, AMX), bf16_pairs_of(found)
    assert pairs is not None and pairs.vectors is not None
    blocks = 2 * pairs.weights.coefficients[pairs.vectors]
    assert [access.offset for access in schedule.prefetch_l2] == [blocks] * wanted
    module = ModuleOp([write(found, schedule, "k")])
    module.verify()
    groups = (size - 2 + 1) // 2  # a row of points is a tile, two of them a group
    lines = 2 * -(-2 * tile.ROWS // groups)
    assert str(module).count("rt.prefetch") == (lines if wanted else 0)


def test_bf16_pairs_are_made_at_once(make_network: Make, kernels_of: Make) -> None:
    """Both parts of a vector from one load, if the channels are contiguous."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(random(48, x.shape[1])))
        m, n, k = b.loops("m n k")
        return b.sum((m, n), over=(k,), of=x[m, k] * w[n, k])

    module: ModuleOp = make_network([(12, 64)], write)
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    bf16_split = kernels_of(module)[0]
    schedule = choose(bf16_split, AMX)
    [which] = bf16_split.index_of.values()
    assert dict(schedule.tile) == {which: 2, schedule.lane: 2}
    assert schedule.vector == AMX.lanes


def test_products_are_no_sums(make_network: Make, kernels_of: Make) -> None:
    """A kernel that multiplies by a number, or sums squares, is another one."""

    def write(b: Builder, x: Tensor) -> Tensor:
        i, k = b.loops("i k")
        squares = b.sum((i,), over=(k,), of=x[i, k] * x[i, k])
        return b.map((i,), b.product((i,), over=(k,), of=x[i, k])[i] + squares[i])

    found = [k for k in kernels_of(make_network([(4, 64)], write)) if k.reduced]
    assert len(found) == 2 and all(bf16_pairs_of(k) is None for k in found)


@pytest.mark.parametrize("target", [t for t in TARGETS if not t.tiles], ids=lambda t: t.name)
def test_without_tiles(make_network: Make, kernels_of: Make, target: Target) -> None:
    """Other strategies take it."""
    assert not choose(kernel(make_network, kernels_of, 32, 32, 6, 3), target).tiles


LAYERS = [  # inputs, outputs, window, stride, side, activation
    (32, 32, 1, 1, 9, 0),
    (64, 48, 3, 1, 14, 1),
    (40, 24, 3, 2, 15, 1),
    (48, 16, 1, 2, 7, 0),
    (96, 80, 5, 1, 17, 1),
    (33, 33, 3, 1, 5, 0),
]


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Convolutions side by side, each behind another one and added to itself; rows of products."""
    lines, count = [], 0
    for n, (inputs, outputs, window, stride, side, activation) in enumerate(LAYERS):
        first, second = inputs * inputs, inputs * outputs * window**2
        lines += [
            f"Input in{n} 0 1 in{n} 0={side} 1={side} 2={inputs}",
            f"Convolution a{n} 1 1 in{n} a{n} 0={inputs} 1=1 5=1 6={first}",
            f"Convolution b{n} 1 1 a{n} b{n} 0={outputs} 1={window} 3={stride} 4={window // 2} 5=1 "
            f"6={second}",
            f"Split s{n} 1 2 b{n} c{n} d{n}",
            f"ReLU r{n} 1 1 c{n} r{n}" if activation else f"TanH r{n} 1 1 c{n} r{n}",
            f"BinaryOp o{n} 2 1 r{n} d{n} out{n} 0=0",
        ]
        count += 7
    lines += ["Input rows 0 1 rows 0=50 1=13", "InnerProduct ip 1 1 rows out 0=36 1=1 2=1800"]
    folder = tmp_path_factory.mktemp("tiles")
    param, binary = folder / "net.param", folder / "net.bin"
    param.write_text("\n".join(["7767517", f"{len(lines)} {count + 2}", *lines, ""]))
    flags, values = b"\0\0\0\0", []
    generator = np.random.default_rng(5)

    def normal(size: int, scale: float) -> bytes:
        return (generator.standard_normal(size) * scale).astype("<f4").tobytes()

    for inputs, outputs, window, *_ in LAYERS:
        depth = inputs * window**2
        values += [flags, normal(inputs * inputs, inputs**-0.5), normal(inputs, 0.3)]
        values += [flags, normal(outputs * depth, depth**-0.5), normal(outputs, 0.3)]
    values += [flags, normal(1800, 50**-0.5), normal(36, 0.3)]
    binary.write_bytes(b"".join(values))
    return param, binary


def written(folder: Path, lines: list[str]) -> Path:
    """The .param of some layers."""
    param, blobs = folder / "net.param", sum(int(line.split()[3]) for line in lines)
    param.write_text("\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""]))
    return param


def checked(param: Path, compiled: Compile, bound: float) -> ncc.Model:
    """A network with random weights on one thread. It computes what its layers say, but for so much
    of the largest number, and the same on three.
    """
    model = compiled(param, None, 1)
    feeds = {b.name: random(*b.shape, seed=k) for k, b in enumerate(model.inputs)}
    expected = interpret(read(param, None, random_weights=SEED).module, feeds)
    found, shared = model.run(feeds), compiled(param, None, 3).run(feeds)
    for name, values in found.items():
        assert abs(values - expected[name]).max() <= bound * abs(expected[name]).max()
        assert (shared[name] == values).all()
    return model


def level(network: tuple[Path, Path | None], wanted: str, opt_level: int, target: Target) -> str:
    """The text of one level of a compilation."""
    param, binary = network
    seed = SEED if binary is None else None
    texts = Compilation(param, binary, Options(opt_level, 1, target, random_weights=seed)).levels()
    return next(str(text) for name, text in texts if name == wanted)


def test_contractions_are_on_tiles(network: tuple[Path, Path]) -> None:
    """At -O3 for this target on any machine; at -O2 there are no tiles, and none are asked for."""
    text = level(network, "loops", 3, FAST)
    assert text.count("tile.configure") >= 10
    assert "tile." not in level(network, "loops", 2, Target.of("amx", tiles=False))
    assert not Options.of(opt_level=2, target="amx").target.tiles


@pytest.mark.parametrize(
    "target", some([t for t in TARGETS if not t.tiles], usual=2), ids=lambda t: t.name
)
def test_without_tiles_three_is_two(network: tuple[Path, Path], target: Target) -> None:
    """The same operations, and schedules do not know the level."""
    assert level(network, "linalg", 3, target) == level(network, "linalg", 2, target)


def test_slow_tiles_are_left(network: tuple[Path, Path]) -> None:
    """-O3 is -O2, too, if nothing is faster on tiles."""
    assert level(network, "linalg", 3, SLOW) == level(network, "linalg", 2, SLOW)


def test_objects_have_the_instructions(make_network: Make, kernels_of: Make) -> None:
    """One configuration and one release a call, whatever the number of chunks."""
    found = kernel(make_network, kernels_of, 48, 64, 9, 3)
    function = write(found, choose(found, AMX), "k")
    module = ModuleOp([function])
    module.verify()
    text = emit_assembly(emit_llvm(lower(module, AMX), AMX), AMX)
    assert text.count("ldtilecfg") == text.count("tilerelease") == 1
    assert text.count("tdpbf16ps") == 12  # two by two tiles; the third block of outputs twice


Compile: TypeAlias = Callable[..., ncc.Model]

SEED = 1


@pytest.fixture(scope="module")
def compiled() -> Iterator[Compile]:
    """compiled(param, bin, threads): a network on tiles, in software where the CPU has none.

    Without a file of weights, they are random. way: the stages. target: one with slower tiles."""
    has_tiles = AMX.features <= cpu.features() and cpu.allow_tiles()
    if not has_tiles and not software_tiles.can_run():
        pytest.skip("this CPU has neither matrix tiles nor conversions to bfloat16")

    def make(
        param: Path,
        binary: Path | None,
        threads: int,
        target: Target = FAST,
        way: type[Compilation] = Compilation,
    ) -> ncc.Model:
        seed = None if binary else SEED
        options = Options(3, threads, target, random_weights=seed, tuned=False)
        artifact = artifact_of(way(param, binary, options))
        return ncc.Model(artifact if has_tiles else software_tiles.without_tiles(artifact))

    with pytest.MonkeyPatch.context() as patch:
        if not has_tiles:
            patch.setattr(objects, "emit_object", software_tiles.emit_object)
        yield make


@pytest.fixture(scope="module")
def model(network: tuple[Path, Path], compiled: Compile) -> ncc.Model:
    """The network on one thread."""
    return compiled(*network, 1)


def test_numbers(network: tuple[Path, Path], model: ncc.Model, compiled: Compile) -> None:
    """1e-5 of the largest result, and the same bits on any number of threads."""
    feeds = {b.name: random(*b.shape, seed=k) for k, b in enumerate(model.inputs)}
    expected = interpret(read(*network).module, feeds)
    found = model.run(feeds)
    for name, values in found.items():
        assert abs(values - expected[name]).max() <= 1e-5 * abs(expected[name]).max()
    shared = compiled(*network, 3).run(feeds)
    assert all((shared[name] == values).all() for name, values in found.items())


MAKERS = """7767517
19 25
Input in 0 1 in 0=12 1=12 2=32
Convolution first 1 1 in first 0=64 1=1 5=1 6=2048 9=1
Split s 1 4 first s0 s1 s2 s3
Convolution wide 1 1 s0 wide 0=32 1=3 4=1 5=1 6=18432
Convolution flat 1 1 s1 flat 0=96 1=1 5=1 6=6144
ConvolutionDepthWise dw 1 1 s2 dw 0=64 1=3 4=1 5=1 6=576 7=64 9=1
Convolution behind 1 1 dw behind 0=64 1=1 5=1 6=4096
BinaryOp sum 2 1 behind s3 sum 0=0
Pooling pool 1 1 sum pool 0=0 1=3 2=2
Split t 1 2 pool t0 t1
Convolution up 1 1 t0 up 0=80 1=1 5=1 6=5120 9=2 -23310=1,0.1
Convolution odd 1 1 up odd 0=32 1=1 5=1 6=2560
Convolution far 1 1 t1 far 0=48 1=3 13=2 4=1 14=1 5=1 6=27648
Concat joined 2 1 wide flat joined
Convolution last 1 1 joined last 0=32 1=3 4=1 5=1 6=36864
HardSwish act 1 1 last act
Convolution end 1 1 act end 0=16 1=1 5=1 6=512
Softmax a 1 1 odd a
Sigmoid z 1 1 far z
"""
"""Kernels of all kinds that make what contractions read: on tiles themselves, with readers beside,
depthwise ones, sums, pooling, joined values; an odd number of blocks at last."""


@pytest.mark.slow
def test_makers_store_bf16_pairs(tmp_path: Path, compiled: Compile) -> None:
    """Any kernel of a value in pairs of blocks stores bf16 numbers like a kernel of its own."""
    param = tmp_path / "net.param"
    param.write_text(MAKERS)
    shared = compiled(param, None, 3)
    model = ncc.Model(shared.artifact, num_threads=1)
    steps = [layers for _, layers in model.artifact.info["steps"]]
    assert steps.count(["bf16"]) == 1  # of the input
    assert sum("bf16" in layers for layers in steps) == 8
    feeds = {b.name: random(*b.shape, seed=k) for k, b in enumerate(model.inputs)}
    found = model.run(feeds)
    expected = interpret(read(param, None, random_weights=SEED).module, feeds)
    for name, values in found.items():
        layers = 4  # one behind the other, at most
        assert abs(values - expected[name]).max() <= layers * 1e-5 * abs(expected[name]).max()
    apart = compiled(param, None, 1, way=OneByOne).run(feeds)
    for others in (apart, shared.run(feeds)):
        assert all((others[name] == values).all() for name, values in found.items())


def test_makers_of_odd_and_even_blocks(tmp_path: Path, compiled: Compile) -> None:
    """Zeros complete the last pair of five blocks, which are not code for eight or for three."""
    lines = ["Input in 0 1 in 0=9 1=9 2=32", "Split s 1 4 in s0 s1 s2 s3"]
    for k, channels in enumerate((72, 128, 40, 44)):
        lines += [
            f"Convolution wide{k} 1 1 s{k} wide{k} 0={channels} 1=1 5=1 6={32 * channels}",
            f"Split t{k} 1 2 wide{k} t{k} u{k}",
            f"Pooling mean{k} 1 1 t{k} mean{k} 0=1 4=1",
            f"BinaryOp scaled{k} 2 1 u{k} mean{k} scaled{k} 0=2",
            f"Convolution out{k} 1 1 scaled{k} out{k} 0=48 1=1 5=1 6={48 * channels}",
        ]
    model = checked(written(tmp_path, lines), compiled, 4e-5)
    steps = [layers for _, layers in model.artifact.info["steps"]]
    assert all([f"scaled{k}", "bf16"] in steps for k in range(4))


def test_tiles_of_whole_pairs_ask_nothing(tmp_path: Path) -> None:
    """Of nine blocks, the tile of the last one alone has zeros to store; the others are whole.

    All are stored by lines of two blocks.
    """
    param = tmp_path / "net.param"
    param.write_text(
        "7767517\n4 4\nInput in 0 1 in 0=28 1=28 2=32\n"
        "Convolution wide 1 1 in wide 0=144 1=1 5=1 6=4608\n"
        "ConvolutionDepthWise dw 1 1 wide dw 0=144 1=3 4=1 5=1 6=1296 7=144 9=1\n"
        "Convolution narrow 1 1 dw out 0=32 1=1 5=1 6=4608\n"
    )
    functions = level((param, None), "loops", 3, FAST).split("func.func")
    [depthwise] = [text for text in functions if "vector.fma" in text]
    assert depthwise.count("scf.if") == 1  # which tile it is
    assert "vector<32xbf16>" in depthwise and "vector<16xbf16>" not in depthwise


def test_channels_of_a_border_are_no_missing_block(tmp_path: Path, compiled: Compile) -> None:
    """Blocks of ones, and of zeros that other layers read, do not change."""
    param = tmp_path / "net.param"
    param.write_text(
        "7767517\n8 9\n"
        "Input in 0 1 in 0=9 1=9 2=32\n"
        "Convolution a 1 1 in a 0=48 1=1 5=1 6=1536\n"
        "Padding ones 1 1 a ones 8=16 5=1.0\n"
        "Convolution b 1 1 ones b 0=48 1=1 5=1 6=3072\n"
        "Padding zeros 1 1 b zeros 8=16\n"
        "Split s 1 2 zeros s0 s1\n"
        "Convolution c 1 1 s0 c 0=16 1=1 5=1 6=1024\n"
        "Sigmoid d 1 1 s1 d\n"
    )
    checked(param, compiled, 3e-5)


def test_sums_in_parts(tmp_path: Path, compiled: Compile) -> None:
    """One kernel goes on with the sums of another, and the epilogue comes after the last one."""
    param = tmp_path / "net.param"
    param.write_text(
        "7767517\n2 2\nInput in 0 1 in 0=9 1=9 2=96\n"
        "Convolution c 1 1 in out 0=40 1=3 3=2 4=1 5=1 6=34560 9=2 -23310=1,0.1\n"
    )
    costs = CostModel(data_types=DataTypes(bf16_parts_worth=0))
    small = replace(FAST, core=replace(FAST.core, l2_bytes=1 << 12), costs=costs)
    model = compiled(param, None, 3, small)
    assert sum("c" in layers for _, layers in model.artifact.info["steps"]) == 3
    feeds = {"in": random(96, 9, 9)}
    expected = interpret(read(param, None, random_weights=SEED).module, feeds)["out"]
    found = model.run(feeds)["out"]
    assert abs(found - expected).max() <= 1e-5 * abs(expected).max()
    assert (ncc.Model(model.artifact, num_threads=1).run(feeds)["out"] == found).all()


def test_weights_of_few_bytes(tmp_path: Path, compiled: Compile) -> None:
    """Weights for one vector: of many results, a few, one; and after a mean."""
    lines = ["Input in 0 1 in 0=1200", "Split s 1 3 in s0 s1 s2"]
    for k, outputs in enumerate((200, 12, 13)):
        count = 1200 * outputs
        lines.append(f"InnerProduct ip{k} 1 1 s{k} out{k} 0={outputs} 1=1 2={count} 9={k % 2}")
    lines += [
        "Input image 0 1 image 0=5 1=5 2=300",
        "Pooling mean 1 1 image mean 0=1 4=1",
        "Convolution squeeze 1 1 mean squeeze 0=40 1=1 5=1 6=12000 9=1",
    ]
    param = written(tmp_path, lines)
    checked(param, compiled, 5e-6)
    assert "vector<16xi20>" in level((param, None), "loops", 3, FAST)


def test_not_finite(model: ncc.Model) -> None:
    """NaN and infinities are seen by the sums that depend on them, and by no others."""
    feeds = {b.name: random(*b.shape, seed=k) for k, b in enumerate(model.inputs)}
    clean = model.run(feeds)["out"]
    for bad in (np.nan, np.inf, -np.inf):
        feeds["rows"][4, 7] = bad
        found = model.run(feeds)["out"]
        assert not np.isfinite(found[4]).any()
        np.testing.assert_array_equal(np.delete(found, 4, 0), np.delete(clean, 4, 0))


WINOGRAD = """7767517
12 14
Input in 0 1 in 0=13 1=14 2=40
Convolution first 1 1 in first 0=72 1=3 4=1 5=1 6=25920 9=1
Split s 1 2 first s0 s1
Convolution apart 1 1 s0 apart 0=32 1=3 2=2 4=2 5=1 6=20736
Convolution beside 1 1 s1 beside 0=32 1=3 4=1 5=1 6=20736 9=3 -23310=2,-1.0,1.0
BinaryOp sum 2 1 apart beside sum 0=0
Split t 1 2 sum t0 t1
Convolution row 1 1 t0 row 0=48 1=3 11=1 4=1 14=0 5=1 6=4608
Pooling pool 1 1 t1 pool 0=0 1=2 2=2
Convolution small 1 1 pool small 0=20 1=3 4=1 5=1 6=5760
Input volume 0 1 volume 0=9 1=6 11=5 2=32
Convolution3D deep 1 1 volume deep 0=32 1=3 11=3 21=3 4=1 14=1 24=1 5=1 6=27648
"""
"""Windows in tiles: of odd numbers of blocks, with phases, beside one another, of one row, of a few
tiles, of slices."""


@pytest.mark.parametrize("always_tiled", [F2], indirect=True)
@pytest.mark.parametrize("rows", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_components(
    tmp_path: Path,
    compiled: Compile,
    always_tiled: Form,
    rows: int,
) -> None:
    """Winograd's products are of bf16 pairs, component by component: transforms store the bf16
    numbers, in chunks of any number of rows.
    """
    param = tmp_path / "net.param"
    param.write_text(WINOGRAD)
    layers = 4  # one behind the other, at most
    target = in_tiles(always_tiled, rows, target=FAST)
    model = checked(param, partial(compiled, target=target), layers * 1e-5)
    steps = [layers for _, layers in model.artifact.info["steps"]]
    for name in ("first", "apart", "row", "small", "deep"):
        assert [name, "bf16"] in steps


@pytest.mark.slow
def test_bf16_pairs_beside_float32(tmp_path: Path, compiled: Compile) -> None:
    """F(4) in float32 between direct bf16 convolutions; a value that both read is stored twice."""
    sizes = [(32, 48, 1), (48, 48, 3), (48, 64, 3), (64, 64, 3)]
    lines = ["Input in 0 1 in 0=34 1=33 2=32"]
    for n, (inputs, outputs, window) in enumerate(sizes):
        lines.append(
            f"Convolution c{n} 1 1 {f'c{n - 1}' if n else 'in'} c{n} 0={outputs} 1={window} "
            f"4={window // 2} 5=1 6={inputs * outputs * window**2} 9=1"
        )
    lines += ["Split s 1 2 c3 s0 s1", "Convolution wide 1 1 s0 wide 0=64 1=1 5=1 6=4096"]
    lines += ["BinaryOp sum 2 1 wide s1 out 0=0"]
    param = written(tmp_path, lines)
    text = level((param, None), "linalg", 3, AMX)
    assert "bf16" in text and "separable" in text and "factors" not in text
    checked(param, partial(compiled, target=AMX), 2e-5)


def test_windows_of_few_planes(tmp_path: Path, compiled: Compile) -> None:
    """First layers read contiguous elements: of large windows, at any stride, with and
    without a border, in strips of rows in front of a pool.
    """
    lines = ["Input in 0 1 in 0=61 1=67 2=3", "Split s 1 3 in s0 s1 s2"]
    for k, (window, stride, border, outputs) in enumerate(
        ((7, 2, 3, 64), (5, 1, 2, 24), (9, 1, 0, 40))
    ):
        weights = outputs * 3 * window**2
        lines += [
            f"Convolution c{k} 1 1 s{k} c{k} 0={outputs} 1={window} 3={stride} 4={border} 5=1 "
            f"6={weights} 9=1",
            f"Pooling p{k} 1 1 c{k} out{k} 0=0 1=3 2=2 3=1",
        ]
    param = written(tmp_path, lines)
    assert level((param, None), "loops", 3, FAST).count("tile.configure") >= 3
    checked(param, compiled, 1e-5)


GROUPS = [(5, 64, 64), (6, 40, 40), (5, 80, 48), (3, 48, 32)]


@pytest.mark.slow
@pytest.mark.parametrize(("groups", "size", "outputs"), GROUPS)
def test_groups(tmp_path: Path, compiled: Compile, groups: int, size: int, outputs: int) -> None:
    """Each group has tiles of weights of its own, and k-tiles of bf16 pairs, whether its blocks are
    pairs or not, filled or not; what follows reads all of them, or goes on by group.
    """
    channels, made = groups * size, groups * outputs
    lines = [
        "Input in 0 1 in 0=9 1=7 2=40",
        f"Convolution wide 1 1 in wide 0={channels} 1=1 5=1 6={40 * channels}",
        f"ConvolutionDepthWise a 1 1 wide a 0={channels} 1=3 4=1 5=1 6={9 * channels * size} "
        f"7={groups} 9=1",
        f"ShuffleChannel mixed 1 1 a mixed 0={groups}",
        f"ConvolutionDepthWise b 1 1 mixed b 0={made} 1=1 5=1 6={made * size} 7={groups} 9=1",
        "Split s 1 2 b b0 b1",
        f"Convolution out 1 1 b0 out 0=40 1=1 5=1 6={40 * made}",
        f"ConvolutionDepthWise c 1 1 b1 c 0={made} 1=3 3=2 4=1 5=1 6={9 * made * outputs} "
        f"7={groups}",
    ]
    param, layers = written(tmp_path, lines), 4  # one behind the other
    assert level((param, None), "loops", 3, FAST).count("tile.configure") >= 4
    checked(param, compiled, layers * 1e-5)


@pytest.mark.slow
def test_makers_store_bf16_pairs_of_groups(tmp_path: Path, compiled: Compile) -> None:
    """A convolution in groups stores those of the next, of an odd number of blocks each, too."""
    lines = ["Input in 0 1 in 0=9 1=7 2=240"]
    lines += [
        f"ConvolutionDepthWise c{k} 1 1 {'in' if k == 0 else f'c{k - 1}'} c{k} 0=240 1=3 4=1 5=1 "
        f"6={9 * 240 * 48} 7=5 9=1"
        for k in range(3)
    ]
    model = checked(written(tmp_path, lines), compiled, 3e-5)
    steps = [layers for _, layers in model.artifact.info["steps"]]
    assert ["c0", "bf16"] in steps and ["c1", "bf16"] in steps


@pytest.mark.parametrize("half", [64, 80, 88], ids=["pairs", "a block alone", "half of one"])
@pytest.mark.slow
def test_selections_store_bf16_pairs(tmp_path: Path, compiled: Compile, half: int) -> None:
    """Of the channels that a shuffle puts together out of two values, as units of a network do that
    work on half of their channels.
    """
    lines = [
        "Input in 0 1 in 0=7 1=9 2=40",
        f"Convolution wide 1 1 in wide 0={2 * half} 1=1 5=1 6={40 * 2 * half}",
        "Slice parts0 1 2 wide kept0 part0 -23300=2,-233,-233",
    ]
    for k in range(2):
        lines += [
            f"Convolution a{k} 1 1 part{k} a{k} 0={half} 1=1 5=1 6={half * half} 9=1",
            f"ConvolutionDepthWise b{k} 1 1 a{k} b{k} 0={half} 1=3 4=1 5=1 6={9 * half} 7={half}",
            f"Convolution c{k} 1 1 b{k} c{k} 0={half} 1=1 5=1 6={half * half} 9=1",
            f"Concat joined{k} 2 1 kept{k} c{k} joined{k} 0=0",
            f"ShuffleChannel mixed{k} 1 1 joined{k} mixed{k} 0=2",
            f"Slice parts{k + 1} 1 2 mixed{k} kept{k + 1} part{k + 1} -23300=2,-233,-233",
        ]
    model = checked(written(tmp_path, lines), compiled, 7e-5)
    assert ["mixed0", "bf16"] in [layers for _, layers in model.artifact.info["steps"]]
