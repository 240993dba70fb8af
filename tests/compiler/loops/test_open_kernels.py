"""Kernels whose extents the run tells do what kernels of each size do, bit by bit."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects import func

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.loops.emit.code import is_code
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.emit.open_loops import OpenLoops
from ncc.compiler.loops.emit.position import Position, kernel_types
from ncc.compiler.loops.emit.transform import clips_of
from ncc.compiler.loops.kernel.kernel import LINE, Kernel
from ncc.compiler.loops.kernel.own_sizes import OwnSizes, changed, owned
from ncc.compiler.loops.kernel.read_kernel import kernel_of
from ncc.compiler.loops.kernel.transform_loops import TransformLoops
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.loops.schedule.matrix_tiles import bf16_pairs_of
from ncc.compiler.loops.schedule.open_extents import for_any_size, for_the_hint
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy, with_lane_parted
from ncc.compiler.loops.schedule.tile_plan import TilePlan
from ncc.compiler.loops.units import Family
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.options import Options
from ncc.compiler.passes import linalg_passes
from ncc.compiler.pipeline import Compilation
from ncc.compiler.plan import Call, Halo, calls_of
from ncc.compiler.target import Target
from ncc.dialects import rt
from ncc.dialects.element import dtype_of
from ncc.dialects.functions import module_of
from ncc.dialects.size import Size, assuming, form_of
from ncc.dialects.tile import ROWS
from ncc.runtime import cpu
from ncc.runtime.machine_code import MachineCode
from tests.crossed import crossed, some
from tests.runnable import NAMES

NETWORKS = {
    "tiles": """
        Input data 0 1 data 0=0 1=0 2=20
        Convolution a 1 1 data a 0=48 1=3 4=1 5=1 6=8640 9=1
        Convolution b 1 1 a b 0=24 1=3 4=1 5=1 6=10368
        PReLU c 1 1 b c 0=24
    """,
    "images": """
        Input data 0 1 data 0=0 1=0 2=3
        Convolution a 1 1 data a 0=16 1=3 3=2 4=1 5=1 6=432 9=1
        ConvolutionDepthWise b 1 1 a b 0=16 1=3 4=1 5=1 6=144 7=16 9=1
        Convolution c 1 1 b c 0=40 1=1 5=1 6=640
        Pooling d 1 1 c d 0=0 1=3 2=2 3=1 5=1
        HardSwish e 1 1 d e 0=0.2 1=0.5
        Deconvolution f 1 1 e f 0=7 1=4 3=2 4=1 5=1 6=4480
    """,
    "framed": """
        Input data 0 1 data 0=0 1=0 2=20
        Convolution a 1 1 data a 0=24 1=1 5=1 6=480 9=1
        ConvolutionDepthWise b 1 1 a b 0=24 1=3 4=1 5=1 6=216 7=24
        HardSwish c 1 1 b c 0=0.2 1=0.5
        Convolution d 1 1 c d 0=40 1=1 4=1 5=1 6=960
    """,
    "bytes": """
        Input data 0 1 data 0=0 1=0 2=16
        Convolution a 1 1 data a 0=32 1=1 5=1 6=512 8=102 9=1
        Convolution b 1 1 a b 0=16 1=3 4=1 5=1 6=4608 8=102 9=1
        Convolution c 1 1 b c 0=32 1=1 4=1 5=1 6=512 8=2
    """,
    "rows": """
        Input data 0 1 data 0=0 1=0 2=5
        Softmax a 1 1 data a 0=2 1=1
        Reduction b 1 1 a b 0=3 1=0 -23303=1,2 4=1 5=1
        BinaryOp c 2 1 a b c 0=0
    """,
    "moved": """
        Input data 0 1 data 0=0 1=0 2=12
        Permute a 1 1 data a 0=3
        Permute b 1 1 a b 0=4
        TanH c 1 1 b c
        ShuffleChannel d 1 1 data d 0=3
    """,
}
MANY_WEIGHTS = """
    Input data 0 1 data 0=0 1=0 2=320
    Convolution a 1 1 data a 0=320 1=3 4=1 5=1 6=921600 9=1
"""
MANY_TAPS = """
    Input data 0 1 data 0=0 1=0 2=320
    Convolution a 1 1 data a 0=320 1=3 4=1 5=1 6=921600 9=1
    Convolution b 1 1 a b 0=320 1=3 3=2 4=1 5=1 6=921600 9=1
"""
IN_PLACE = """
    Input data 0 1 data 0=0 1=0 2=24
    Convolution a 1 1 data a 0=24 1=3 4=1 5=1 6=5184 9=1
    Convolution b 1 1 data b 0=24 1=3 4=1 5=1 6=5184
    Eltwise c 2 1 a b c 0=1
    Convolution d 1 1 c d 0=3 1=1 5=1 6=72
"""
MATRIX_TILES = {
    "rows": """
        Input data 0 1 data 0=0 1=0 2=64
        Convolution a 1 1 data a 0=64 1=3 4=1 5=1 6=36864 9=1
        Convolution b 1 1 a b 0=64 1=3 4=1 5=1 6=36864 9=1
    """,
    "groups": """
        Input data 0 1 data 0=0 1=0 2=128
        ConvolutionDepthWise a 1 1 data a 0=128 1=3 4=1 5=1 6=36864 7=4 9=1
        Pooling b 1 1 a b 0=0 1=3 2=2 3=1 5=1
        Convolution c 1 1 b c 0=80 1=1 5=1 6=10240
    """,
    "column": """
        Input data 0 1 data 0=0 1=0 2=64
        Convolution a 1 1 data a 0=64 1=3 4=1 5=1 6=36864 9=1
        Crop b 1 1 a b 0=0 3=1 4=-233 5=-233
        Convolution c 1 1 b c 0=64 1=1 5=1 6=4096
    """,
    "strides": """
        Input data 0 1 data 0=0 1=0 2=3
        Convolution a 1 1 data a 0=64 1=7 3=2 4=3 5=1 6=9408 9=1
        Convolution b 1 1 a b 0=128 1=1 5=1 6=8192
        Convolution c 1 1 b c 0=128 1=3 3=2 4=1 5=1 6=147456
        Convolution d 1 1 c d 0=48 1=3 4=1 5=1 6=55296 9=1
        Convolution e 1 1 d e 0=64 1=3 4=2 2=2 5=1 6=27648 9=1
    """,
}
TARGETS = [name for name in NAMES if name in ("avx2", "avx512vnni")]
LONG_ROWS, SHORT_ROWS = (100, 120), (18, 18)
SIZES = [(1, 1), (5, 2), (13, 13), (33, 57), (61, 1)]


def param(text: str) -> str:
    """A .param from the lines of layers without their counts."""
    lines = [line.split() for line in text.strip().splitlines() if line.strip()]
    rows = [[kind, name, *rest] for kind, name, *rest in lines]
    blobs = {b for row in rows for b in row[4 + int(row[2]) : 4 + int(row[2]) + int(row[3])]}
    return "\n".join(["7767517", f"{len(rows)} {len(blobs)}", *(" ".join(row) for row in rows), ""])


def calls_of_network(
    path: Path, options: Options, hint: tuple[int, int] = (100, 120)
) -> list[Call]:
    """The calls of an open network."""
    compilation = Compilation(path, None, options)
    module = compilation.source.clone()
    with assuming():
        sides = (Size.symbol(name, side) for name, side in zip("hw", hint, strict=True))
        shape = (_channels(path), *sides)
        infer_shapes(module, {"data": shape})
        canonicalize(module, exact=False)
        optimize_module(module)
        for one in linalg_passes(options):
            one.apply(Context(), module)
        steps = compilation.plan(module).steps
    return [call for step in steps if not isinstance(step, Halo) for call in calls_of(step)]


def _channels(path: Path) -> int:
    return int(path.read_text().split("2=", 1)[1].split()[0])


class Code:
    """A kernel as machine code."""

    def __init__(self, function: func.FuncOp, target: Target) -> None:
        function.sym_visibility = None
        text = emit_llvm(lower(module_of([function]), target), target)
        self.code = MachineCode([emit_object(text, target)])
        self.address = self.code.address(function.sym_name.data)

    def run(self, memory: Sequence[NDArray[Any]], chunks: int) -> None:
        """Do all chunks."""
        pointers = [array.ctypes.data for array in memory]
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), *[ctypes.c_long] * 2)
        kind(self.address)(*pointers, 0, chunks)


def memory_of(kernel: Kernel, rng: np.random.Generator) -> Iterator[NDArray[Any]]:
    """Random memory for each argument of a kernel of one size."""
    sizes = [kind.get_shape()[0] for kind in kernel_types(kernel)]
    for held in kernel.captured.values():
        sizes[held.argument] += sum(held.strides) * 128
    for kind, size in zip(kernel_types(kernel), sizes, strict=True):
        dtype = dtype_of(kind.element_type)
        random = rng.standard_normal(size + 64) if dtype.kind == "f" else rng.integers(0, 1, size)
        yield random.astype(dtype)


@pytest.mark.parametrize(("name", "target"), crossed(list(NETWORKS), TARGETS, usual=2))
def test_a_kernel_does_at_each_size_what_one_for_that_size_does(
    name: str, target: str, tmp_path: Path
) -> None:
    """Images of one pixel, of fewer than a tile has, and of several with a rest."""
    path = tmp_path / "net.param"
    path.write_text(param(NETWORKS[name]))
    options = Options.of(target=target, num_threads=2, random_weights=1)
    rng, seen = np.random.default_rng(0), set[str]()
    for call in calls_of_network(path, options):
        if is_code(call.function):
            continue
        kernel = kernel_of(call, options.target)
        if kernel.signature_text in seen:
            continue
        seen.add(kernel.signature_text)
        check(kernel, options.target, rng)
    assert seen


def transforming_kernel(folder: Path) -> tuple[Kernel, Target]:
    """A kernel that transforms its weights, whose taps lie apart, and its target."""
    path = folder / "net.param"
    path.write_text(param(MANY_WEIGHTS))
    options = Options.of(target="avx512vnni", random_weights=1)
    calls = calls_of_network(path, options, hint=(14, 14))
    (kernel,) = (k for k in (kernel_of(c, options.target) for c in calls) if k.forms_weights)
    return kernel, options.target


@pytest.mark.skipif("avx512vnni" not in NAMES, reason="its vectors are no blocks of channels")
def test_weights_are_transformed_for_any_number_of_tiles(tmp_path: Path) -> None:
    """Fewer tiles of Winograd than a register tile has, and several register tiles with a rest."""
    kernel, target = transforming_kernel(tmp_path)
    assert scheduled(kernel, target).strategy is Strategy.FORMED_WEIGHTS
    check(kernel, target, np.random.default_rng(0), [(1, 1), (6, 7), (13, 13), (20, 20)])


def test_all_taps_of_the_next_weights_are_prefetched(tmp_path: Path) -> None:
    """They lie apart; each row of a transform asks for those of some taps, and each column for some
    lines of these.
    """
    kernel, target = transforming_kernel(tmp_path)
    schedule, loops = scheduled(kernel, target), TransformLoops.of(kernel)
    written = write(*OwnSizes().of((kernel, schedule)), "kernel")
    count = sum(isinstance(op, rt.PrefetchOp) for op in written.walk())
    weights = kernel.extents[loops.down] * kernel.extents[loops.across] * BLOCK * BLOCK
    lines = 2 * weights // LINE
    assert lines <= count * kernel.extents[loops.column] <= lines * 5 // 4


@pytest.mark.skipif(not cpu.allow_tiles(), reason="it has no matrix tiles")
@pytest.mark.parametrize(
    ("name", "hint"), crossed(list(MATRIX_TILES), [LONG_ROWS, SHORT_ROWS], usual=1)
)
def test_matrix_tiles_have_as_many_rows_as_points(
    name: str, hint: tuple[int, int], tmp_path: Path
) -> None:
    """Tiles of a row of points, of a column, and flat ones; the split numbers that they read."""
    path = tmp_path / "net.param"
    path.write_text(param(MATRIX_TILES[name]))
    options = Options.of(target="amx", opt_level=3, num_threads=2, random_weights=1)
    rng = np.random.default_rng(0)
    kernels = [kernel_of(call, options.target) for call in calls_of_network(path, options, hint)]
    for kernel in kernels:
        check(kernel, options.target, rng, [*SIZES, (40, 3), (23, 6)])
    assert any(bf16_pairs_of(kernel) for kernel in kernels)


@pytest.mark.parametrize("hint", [LONG_ROWS, SHORT_ROWS])
def test_matrix_tiles_of_short_rows_go_on_to_the_next_row(
    hint: tuple[int, int], tmp_path: Path
) -> None:
    """A tall image of a few columns takes as many tiles as its padded points fill, or the points of
    a single column; others have at least one tile for each row, whatever the hint is.
    """
    path, height = tmp_path / "net.param", 61
    path.write_text(param(MATRIX_TILES["rows"]))
    options = Options.of(target="amx", opt_level=3, random_weights=1)
    kernels = [kernel_of(call, options.target) for call in calls_of_network(path, options, hint)]
    of_pairs = [kernel for kernel in kernels if bf16_pairs_of(kernel)]
    assert of_pairs
    for plan in (TilePlan(kernel, scheduled(kernel, options.target)) for kernel in of_pairs):
        for width in range(1, 40):
            pitch = width + 2
            in_rows = height * -(-width // ROWS)
            padded = height if width == 1 else pitch * height - 2
            tiles = form_of(plan.count).value({"h": height, "w": width})
            is_flat = width in (*range(1, 7), 17, 19)
            assert tiles == (-(-padded // ROWS) if is_flat else in_rows)


def test_taps_of_matrix_tiles_are_innermost(tmp_path: Path) -> None:
    """The run tells them, so that their weights lie outside; but neighbouring taps read the same
    points, which are in L1 then.
    """
    path = tmp_path / "net.param"
    path.write_text(param(MANY_TAPS))
    options = Options.of(target="amx", opt_level=3, random_weights=1)
    calls = calls_of_network(path, options, hint=(14, 14))
    kernels = [kernel_of(call, options.target) for call in calls]
    *_, pairs = filter(None, map(bf16_pairs_of, kernels))  # the input keeps its border and all taps
    inputs, rows, columns = (pairs.weights.coefficients[d] for d in pairs.k_loops)
    assert rows > columns > inputs


def test_a_transform_has_one_code_for_all_partial_tiles(tmp_path: Path) -> None:
    """The last row of tiles, the last column, and the corner: few store as many points as a whole
    tile does, so that a second code for them is enough.
    """
    path = tmp_path / "net.param"
    path.write_text(param(NETWORKS["tiles"]))
    options = Options.of(target=TARGETS[0], random_weights=1)
    kernels = [kernel_of(c, options.target) for c in calls_of_network(path, options)]
    partial = [one for one in kernels if one.is_open and one.matrices and clips_of(one)]
    assert partial
    for kernel in partial:
        transform = TransformLoops.of(kernel)
        points = kernel.extents[transform.row] * kernel.extents[transform.column]
        hinted = for_the_hint(kernel, options.target.costs.schedules)
        written = write(*OwnSizes().of((kernel, choose(hinted, options.target))), "f")
        assert sum(op.name == "vector.store" for op in written.walk()) == 2 * points


@pytest.mark.parametrize("name", some(list(NETWORKS), usual=1))
def test_no_hint_decides_what_the_key_of_a_kernel_does_not_say(name: str, tmp_path: Path) -> None:
    """With one schedule, kernels of other hints have the same key: the cache has their code."""
    path = tmp_path / "net.param"
    path.write_text(param(NETWORKS[name]))
    options = Options.of(target=TARGETS[0], num_threads=2, random_weights=1)
    calls = [c for c in calls_of_network(path, options) if not is_code(c.function)]
    for kernel in (kernel_of(call, options.target) for call in calls):
        schedule = scheduled(kernel, options.target)
        units = [
            Family(*changed((kernel, schedule), with_sides(height, width)), None).unit
            for height, width in ((1, 1), (100, 120), (3, 2000))
        ]
        assert len({unit.key() for unit in units}) == 1
        assert len({str(unit.module()) for unit in units}) == 1


def test_code_tells_which_operand_its_result_may_replace(tmp_path: Path) -> None:
    """With sizes of its own, too: a tile that moves back would add to such an operand twice."""
    path = tmp_path / "net.param"
    path.write_text(param(IN_PLACE))
    options = Options.of(target=TARGETS[0], num_threads=1, random_weights=1)
    calls = calls_of_network(path, options, hint=(7, 7))
    found = 0
    for kernel in (kernel_of(call, options.target) for call in calls if not is_code(call.function)):
        own, schedule, _ = owned(kernel, scheduled(kernel, options.target))
        assert len(own.in_place()) == len(kernel.in_place())
        if own.in_place():
            found += 1
            assert not OpenLoops(Position(own, schedule)).can_store_again
    assert found


def with_sides(height: int, width: int) -> Callable[[Size], int]:
    """A size for images that have other hints."""
    sides = {"h": form_of(Size.symbol("h", height)), "w": form_of(Size.symbol("w", width))}
    return lambda size: Size.of(size.form.with_values(sides))


def scheduled(kernel: Kernel, target: Target) -> Schedule:
    """The schedule that an open kernel has in a network."""
    costs = target.costs
    hinted = for_the_hint(kernel, costs.schedules)
    schedule = with_lane_parted(hinted, choose(hinted, target), costs.threads)
    return for_any_size(kernel, schedule, target)


def check(
    kernel: Kernel,
    target: Target,
    rng: np.random.Generator,
    images: Sequence[tuple[int, int]] = SIZES,
) -> None:
    """The open kernel, and those for each size, on the same memory."""
    schedule = scheduled(kernel, target)
    own = OwnSizes()
    written = write(*own.of((kernel, schedule)), "open")
    opened = Code(written, target)
    for height, width in images:

        def value(size: int, h: int = height, w: int = width) -> int:
            return form_of(size).value({"h": h, "w": w})

        closed: Kernel = changed(kernel, value)
        valid = [extent for _, _, extent in closed.valid_extents]
        if min((*closed.extents, *valid)) < 1:
            continue  # a part that this image does not have: no step runs it
        expected = list(memory_of(closed, rng))
        found = [array.copy() for array in expected]
        its_own: Schedule = choose(closed, target)
        Code(write(closed, its_own, "closed"), target).run(expected, chunk_count(closed, its_own))
        told = np.array([value(size) for size in own.values], np.int64)
        opened.run([*found, told] if own.values else found, value(chunk_count(kernel, schedule)))
        in_another_order = Strategy.ROWS in (schedule.strategy, its_own.strategy)
        for one, other in zip(found, expected, strict=True):
            if in_another_order:
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(one, other, f"{schedule} at {height}x{width}")
