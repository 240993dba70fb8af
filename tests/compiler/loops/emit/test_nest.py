"""Whatever the schedule, a kernel computes what numpy computes.

Random operations - contractions, extrema, sums and maps over compound indices, from initial
values, with epilogues, on padded inputs - under random legal schedules, in memory whose other
cells are watched.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

import ncc
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.loops.emit.emitter import write as write_kernel
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.pointwise import scalar
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Index, Tensor
from ncc.dialects.scalar import Scalar, clamp, exp, maximum, to_index
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr
from tests.crossed import crossed, some
from tests.runnable import RUNNABLE
from tests.structured.evaluate import evaluate

FLOATS = [target for target in RUNNABLE if not target.dot]
"""Those that differ in arithmetic of floats; dot products of int8 change none of it."""

Form: TypeAlias = tuple[tuple[int, int], ...]
"""An index: (loop, coefficient) pairs."""

BATCH = 40
"""Operations of one object."""


@dataclass
class Recipe:
    """Everything random about one operation, drawn from one seed."""

    random: random.Random

    def __post_init__(self) -> None:
        draw = self.random
        parallel, reduced = draw.randint(1, 3), draw.randint(0, 3)
        large = [1, 2, 3, 5, 7, 8, 15, 16, 17, 20, 32, 37]
        self.extents = [draw.choice(large) for _ in range(parallel)]
        self.extents += [draw.choice([1, 2, 3, 4, 5, 9, 16, 19]) for _ in range(reduced)]
        while np.prod(self.extents) > 30000:
            widest = self.extents.index(max(self.extents))
            self.extents[widest] = -(-self.extents[widest] // 2)
        self.parallel = list(range(parallel))
        self.reduced = list(range(parallel, parallel + reduced))
        self.data = self._forms(draw.sample(range(parallel + reduced), parallel + reduced))
        weights = [d for d in range(parallel + reduced) if draw.random() < 0.6]
        draw.shuffle(weights)
        self.weights: list[Form] = [((d, 1),) for d in weights]
        self.to = draw.sample(self.parallel, parallel)
        self.kind = draw.choice(["sum", "sum", "sum", "max", "min"]) if reduced else "map"
        self.body = draw.choice(["times", "times", "first", "more"])
        self.init = draw.choice(["none", "spread", "full", "number"])
        self.epilogue = [
            draw.choice(["relu", "residual", "scale", "curve"]) for _ in range(draw.randint(0, 2))
        ]
        self.padded = draw.random() < 0.4 and bool(self.data)
        self.pads = [(draw.randint(0, 2), draw.randint(0, 2)) for _ in self.data]
        self.border = draw.choice([0.0, -1.5])

    def _forms(self, loops: Sequence[int]) -> list[Form]:
        """Indices that use each loop once: alone, as a window, as a group or strided."""
        draw, forms, rest = self.random, list[Form](), list(loops)
        while rest:
            first = rest.pop()
            style = draw.random()
            if rest and style < 0.35:
                forms.append(((first, draw.randint(1, 3)), (rest.pop(), draw.randint(1, 2))))
            elif rest and style < 0.45:
                inner = rest.pop()
                forms.append(((first, self.extents[inner]), (inner, 1)))
            elif style < 0.5:
                forms.append(((first, 2),))
            elif style < 0.95:
                forms.append(((first, 1),))
        return forms

    @property
    def shapes(self) -> list[Shape]:
        """Data before padding, weights, a tensor like the result, a vector along its last axis."""
        result = tuple(self.extents[d] for d in self.to)
        data = self._shape(self.data)
        if self.padded:
            pads = zip(data, self.pads, strict=True)
            inner = [n - low - high for n, (low, high) in pads]
            if min(inner, default=1) < 1:
                self.padded = False
            else:
                data = tuple(inner)
        return [data or (1,), self._shape(self.weights) or (1,), result, result[-1:]]

    def _shape(self, forms: Sequence[Form]) -> Shape:
        return tuple(1 + sum(c * (self.extents[d] - 1) for d, c in form) for form in forms)

    def write(self, b: Builder, x: Tensor, w: Tensor, full: Tensor, vector: Tensor) -> Tensor:
        if self.padded:
            low, high = zip(*self.pads, strict=True)
            x = b.pad(x, low, high, self.border)
        init = self._initial(b, full, vector)
        loops = b.loops(" ".join(f"d{d}:{n}" for d, n in enumerate(self.extents)))
        to = [loops[d] for d in self.to]
        read = x[_indices(loops, self.data)], w[_indices(loops, self.weights)]
        of = {"times": read[0] * read[1], "first": read[0] + 0.5}.get(self.body)
        of = maximum(read[0], read[1] * read[1]) - 0.25 if of is None else of
        if self.kind == "map":
            y = b.map(to, of)
        else:
            combine = getattr(b, self.kind)
            given = {} if init is None else {"init": init}
            y = combine(to, over=[loops[d] for d in self.reduced], of=of, **given)
        for step in self.epilogue:
            at = b.loops_of(y.shape)
            y = b.map(at, _epilogue(step, y[at], full[at], vector[at[-1]]))
        return y

    def _initial(self, b: Builder, full: Tensor, vector: Tensor) -> Tensor | float | None:
        match self.init:
            case "number":
                return 0.75
            case "spread":
                return b.spread(vector, full.shape, full.rank - 1)
            case "full":
                at = b.loops_of(full.shape)
                return b.map(at, full[at] * 2.0)
        return None

    def arguments(self) -> list[Array]:
        generator = np.random.default_rng(self.random.randrange(1 << 30))
        return [generator.standard_normal(s).astype(np.float32) for s in self.shapes]


def _indices(loops: Sequence[AffineExpr], forms: Sequence[Form]) -> list[Index]:
    indices: list[Index] = []
    for form in forms:
        total: AffineExpr | None = None
        for d, c in form:
            total = loops[d] * c if total is None else total + loops[d] * c
        indices.append(0 if total is None else total)
    return indices or [0]


def _epilogue(step: str, y: Scalar, full: Scalar, vector: Scalar) -> Scalar:
    match step:
        case "relu":
            return maximum(y, 0.0)
        case "residual":
            return y + full
        case "scale":
            return y * vector
    return exp(clamp(y, -4.0, 1.0))


def random_schedule(draw: random.Random, kernel: Kernel) -> Schedule:
    """Any schedule that is legal for the kernel."""
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    rows = [d for d in sorted(kernel.reduced) if _can_be_row(kernel, d)]
    lane = draw.choice([None, *lanes, *lanes, *rows])
    order = draw.sample(kernel.parallel, len(kernel.parallel))
    tile, room = list[tuple[int, int]](), 20
    for d in draw.sample(order, len(order)):
        n = draw.randint(1, min(6, room, kernel.extents[d]))
        room //= n
        if n > 1:
            tile.append((d, n))
    reduced = draw.sample(sorted(kernel.reduced), len(kernel.reduced))
    if lane in kernel.reduced:
        reduced = [*(d for d in reduced if d != lane), lane]
    small = [d for d in reduced if kernel.extents[d] <= 4 and d != lane]
    unroll = frozenset(draw.sample(small, draw.randint(0, min(2, len(small)))))
    most = order.index(lane) if lane in order else len(order)
    longest = kernel.extents[lane] if lane in kernel.reduced else 16
    vectors = [vector for vector in (2, 4, 8, 16) if vector <= longest]
    vector = 1 if lane is None else draw.choice(vectors)
    chunks = draw.randint(0, most)
    span = 0
    if order[-1:] == [lane] and draw.random() < 0.5:
        step = vector * dict(tile).get(order[-1], 1)
        span = step * draw.randint(1, 3) if kernel.extents[order[-1]] >= step else 0
        chunks = most if span else chunks
    return Schedule(
        Strategy.POINTWISE,
        lane,
        vector,
        tuple(tile),
        tuple(order),
        tuple(reduced),
        unroll,
        chunks=chunks,
        span=span,
    )


def _can_be_row(kernel: Kernel, loop: int) -> bool:
    reads = [access for access in kernel.anchor.inputs if access is not None]
    moves = [access.coefficients[loop] for access in reads]
    known = isinstance(
        kernel.anchor.yielded.owner, arith.AddfOp | arith.MaxnumfOp | arith.MinnumfOp
    )
    plain = not kernel.valid_extents and not kernel.anchor.extracts
    long = kernel.extents[loop] >= 2
    return known and plain and long and set(moves) <= {0, 1} and 1 in moves


Networks: TypeAlias = list[tuple[ModuleOp, list[Array]]]


def random_networks(make_network: Callable[..., ModuleOp], seed: int) -> Networks:
    recipes = [Recipe(random.Random(seed * BATCH + k)) for k in range(BATCH)]
    return [(make_network(recipe.shapes, recipe.write), recipe.arguments()) for recipe in recipes]


def check(
    networks: Networks,
    run_networks: Callable[..., Any],
    schedule_of: Callable[[Kernel], Schedule],
    target: Target,
) -> None:
    """Judge every network by the numpy evaluation of its operation in double precision."""
    expected = [evaluate(network_of(m), arrays, dtype=np.float64)[0] for m, arrays in networks]
    texts = [str(module) for module, _ in networks]
    found, programs = run_networks(networks, schedule_of, target)
    for want, (got,), text, program in zip(expected, found, texts, programs, strict=True):
        scale = max(1.0, float(np.abs(want).max()))
        wrong = ~(np.abs(got - want) <= 2e-5 * scale)
        assert not wrong.any(), f"{wrong.sum()} of {wrong.size}: {program.schedules}\n{text}"


@pytest.mark.parametrize(
    "target", some([FLOATS[0], FLOATS[-1]], usual=1), ids=lambda target: target.name
)
def test_any_legal_schedule(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], target: Target
) -> None:
    """Tiles, lanes, orders and chunks change the time a kernel takes and nothing else."""
    draw = random.Random(0)
    networks = random_networks(make_network, 0)
    check(networks, run_networks, lambda kernel: random_schedule(draw, kernel), target)


@pytest.mark.parametrize("target", some(FLOATS[::-1], usual=1), ids=lambda target: target.name)
def test_chosen_schedule(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], target: Target
) -> None:
    """The schedules that the strategies choose are right."""
    networks = random_networks(make_network, 100)
    check(networks, run_networks, lambda kernel: choose(kernel, target), target)


@pytest.mark.parametrize(("width", "target"), crossed([5, 14, 35], FLOATS))
def test_results_that_lie_apart(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    width: int,
) -> None:
    """Vectors start from elements of every second column and go back there."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.arange(12, dtype=np.float32).reshape(3, 2, 2)))
        to = b.full((3, 8, 2 * width), 0.5)
        c, p, q, k, m = b.loops(f"c p:4 q:{width} k m")
        data = x[c, p + k, q + m] * w[c, k, m]
        return b.sum((c, p * 2, q * 2 + 1), over=(k, m), of=data, init=to)

    x = np.random.default_rng(3).standard_normal((3, 5, width + 1)).astype(np.float32)
    networks = [(make_network([x.shape], write), [x])]
    check(networks, run_networks, lambda kernel: choose(kernel, target), target)


@pytest.mark.parametrize(("size", "target"), crossed([(1, 5), (3, 14), (7, 37), (3, 1024)], FLOATS))
def test_computed_coordinates(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    size: tuple[int, int],
) -> None:
    """Each lane reads at its own coordinates; they are limited, and 0 if they are NaN."""
    channels, width = size

    def write(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p, q = b.loops_of((channels, 4, width))
        rows, columns = (
            to_index(clamp(grid[k, p, q] * 2.0 + 0.5, 0.0, n - 1))
            for k, n in enumerate(x.shape[1:])
        )
        return b.map((c, p, q), x.at(b.index(c), rows, columns) * grid[0, p, q] + 1.0)

    draw = np.random.default_rng(5)
    x = draw.standard_normal((channels, 6, 9)).astype(np.float32)
    grid = draw.uniform(-1, 5, (2, 4, width)).astype(np.float32)
    grid[1, :, :4] = np.nan, np.inf, -np.inf, 3e38
    chosen: list[Schedule] = []

    def schedule_of(kernel: Kernel) -> Schedule:
        chosen.append(choose(kernel, target))
        return chosen[-1]

    check(
        [(make_network([x.shape, grid.shape], write), [x, grid])], run_networks, schedule_of, target
    )
    assert all(schedule.vector > 1 for schedule in chosen)


@pytest.mark.parametrize("target", FLOATS, ids=lambda target: target.name)
def test_coordinates_are_rounded_step_by_step(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], target: Target
) -> None:
    """3 * 5/6 is 2.5 in float32; that less 1.5 would be just below 1 if it were rounded once."""

    def write(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p = b.loops_of((3, 32))
        return b.map((c, p), x.at(b.index(c), to_index(grid[p] * 3.0 + -1.5)))

    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    network = make_network([x.shape, (32,)], write), [x, np.full(32, 5 / 6, np.float32)]
    [[found]], _ = run_networks([network], lambda kernel: choose(kernel, target), target)
    np.testing.assert_array_equal(found, np.repeat(x[:, 1:], 32, axis=1))


@pytest.mark.parametrize("parted", [False, True])
@pytest.mark.parametrize("target", FLOATS, ids=lambda target: target.name)
def test_squares_that_overlap(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    parted: bool,
) -> None:
    """Sides that no square divides, with a border around them, and cells beside them watched; also
    where threads share a row of squares.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        c, p, q = b.loops_of((x.shape[2], x.shape[1], x.shape[0]))
        return b.pad(b.map((c, p, q), x[q, p, c] * 2.0), (0, 1, 1), (0, 1, 1))

    sides = [(4, 4), (5, 7), (7, 16), (14, 16), (28, 10), (17, 31), (33, 6)]
    draw = np.random.default_rng(4)
    networks = []
    for first, last in sides:
        x = draw.standard_normal((first, 3, last)).astype(np.float32)
        networks.append((make_network([x.shape], write), [x]))
    transposed: list[Schedule] = []

    def schedule_of(kernel: Kernel) -> Schedule:
        schedule = choose(kernel, target)
        if parted:
            around = len(schedule.order) - 1
            schedule = replace(schedule, chunks=around, span=schedule.vector)
        transposed.append(schedule)
        return schedule

    check(networks, run_networks, schedule_of, target)
    assert all(schedule.transpose is not None for schedule in transposed)


@pytest.mark.parametrize(("count", "target"), crossed([2, 3, 5, 6, 7, 8], FLOATS))
def test_vectors_that_are_interleaved(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    count: int,
    target: Target,
) -> None:
    """Any number of short rows that are stored, loaded, summed and computed, next to a border."""

    def written(b: Builder, x: Tensor) -> Tensor:
        i, r, c = b.loops_of((x.shape[0], x.shape[2], x.shape[1]))
        return b.pad(b.map((i, r, c), x[i, c, r] * 2.0), (1, 0, 0), (1, 0, 0))

    def read(b: Builder, x: Tensor) -> Tensor:
        i, c, r = b.loops_of((x.shape[0], x.shape[2], x.shape[1]))
        return b.pad(b.map((i, c, r), x[i, r, c] + 1.0), (0, 0, 1), (0, 0, 2))

    def folded(b: Builder, x: Tensor) -> Tensor:
        i, r, c = b.loops_of(x.shape)
        return b.sum((i, r), over=(c,), of=x[i, r, c] * x[i, r, c])

    def computed(b: Builder, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        i, r, c = b.loops_of(x.shape)
        return b.map((i, r, c), exp(x[i, r, c] - y[i, r]) * z[c])

    draw = np.random.default_rng(count)
    networks = []
    for rows in (9, 16, 47):
        x = draw.standard_normal((3, rows, count)).astype(np.float32)
        turned = x.transpose(0, 2, 1).copy()
        networks.append((make_network([turned.shape], written), [turned]))
        networks += [(make_network([x.shape], f), [x]) for f in (read, folded)]
        inputs = [x, x.max(axis=2), x[0, 0].copy()]
        networks.append((make_network([y.shape for y in inputs], computed), inputs))
    schedules: list[Schedule] = []

    def schedule_of(kernel: Kernel) -> Schedule:
        schedules.append(choose(kernel, target))
        return schedules[-1]

    check(networks, run_networks, schedule_of, target)
    vectors = [schedule for schedule in schedules if schedule.interleave is not None]
    assert len(vectors) == (len(networks) if count < min(8, target.lanes) else len(vectors))


IN_PLACE = """7767517
8 9
Input x 0 1 x 0={} 1=12 2=3
Convolution a 1 1 x a 0=3 1=3 4=1 6=81
Split copies 1 2 a b c
Convolution d 1 1 b d 0=3 1=3 4=1 6=81
Convolution g 1 1 d g 0=3 1=3 4=1 6=81
BinaryOp e 2 1 g c e 0=0
Convolution f 1 1 e f 0=3 1=3 4=1 6=81
ReLU y 1 1 f y
"""


@pytest.mark.parametrize(("width", "target"), crossed([29, 31, 45], FLOATS))
def test_vectors_that_overlap(tmp_path: Path, target: Target, width: int) -> None:
    """Rows that no vector divides, of sums, and of sums that go on with their results."""
    param = tmp_path / "net.param"
    param.write_text(IN_PLACE.format(width))
    options: dict[str, Any] = {"random_weights": 1, "target": target.name}
    x = np.random.default_rng(4).standard_normal((3, 12, width)).astype(np.float32)
    plain = ncc.compile(param, **options, opt_level=0)(x)
    found = ncc.compile(param, **options)(x)
    np.testing.assert_allclose(found, plain, rtol=0, atol=1e-5 * np.abs(plain).max())


@pytest.mark.parametrize(("columns", "most"), [(64, 4), (50, 3), (29, 1)])
def test_vectors_that_are_left_share_a_tile(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[..., list[Kernel]],
    columns: int,
    most: int,
) -> None:
    """The last whole vectors of a row, if a tile has four: they read each point once."""

    def write(b: Builder, x: Tensor, w: Tensor) -> Tensor:
        m, n, k = b.loops("m n k")
        return b.sum((m, n), over=(k,), of=x[m, k] * w[k, n])

    (kernel,) = kernels_of(make_network([(8, 9), (9, columns)], write))
    lane = next(d for d in kernel.parallel if kernel.extents[d] == columns)
    tile = tuple((d, 4) for d in kernel.parallel)
    schedule = replace(choose(kernel, AVX512), lane=lane, vector=16, tile=tile, chunks=1)
    written = write_kernel(kernel, schedule, "kernel")
    carried = [len(op.iter_args) for op in written.walk() if isinstance(op, scf.ForOp)]
    assert max(carried) == 4 * most


def test_scalar_schedule(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any]
) -> None:
    """Plain loops are right for every kernel."""
    networks = random_networks(make_network, 200)
    check(networks, run_networks, lambda kernel: scalar(kernel, FLOATS[-1]), FLOATS[-1])


@pytest.mark.slow
@pytest.mark.parametrize("target", FLOATS, ids=lambda target: target.name)
@pytest.mark.parametrize("seed", range(1000, 1010))
def test_many_more_schedules(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    seed: int,
    target: Target,
) -> None:
    """As above, for thousands of operations."""
    draw = random.Random(seed)
    networks = random_networks(make_network, seed)
    check(networks, run_networks, lambda kernel: random_schedule(draw, kernel), target)
    networks = random_networks(make_network, seed)
    check(networks, run_networks, lambda kernel: choose(kernel, target), target)
