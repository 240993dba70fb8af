"""Values live inside what reads them, and are copied only where nothing else is possible."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, ModuleOp, StringAttr, f32, i64
from xdsl.ir import Operation

from ncc.compiler.linalg.analysis.attributes import VALID_EXTENTS
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.memory import assign_buffers as subview
from ncc.compiler.linalg.memory.assign_buffers import chained
from ncc.compiler.linalg.rewrite.insert import generic_of
from ncc.compiler.pipeline import stages
from ncc.compiler.plan import Call, Halo, Kind, Plan, Subview
from ncc.dialects import rt
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.shapes import Shape
from ncc.dialects.statements import Code
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.artifact import DYNAMIC_HEADER
from tests.compiler.linalg.operations import flip, work

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
MakePlan: TypeAlias = Callable[..., Plan]


class Placed:
    """A network and its plan."""

    def __init__(self, module: ModuleOp, plan: Plan) -> None:
        self.module, self.plan = module, plan

    @property
    def kernels(self) -> list[str]:
        """The functions called, in order."""
        calls = [step for step in self.plan.steps if isinstance(step, Call)]
        return [call.function.sym_name.data for call in calls]

    @property
    def copies(self) -> int:
        return sum(name.startswith("copy") for name in self.kernels)

    def subview(self, kind: type[Operation], number: int = 0) -> Subview:
        """Where the result of the numbered operation of a kind is."""
        ops = [op for op in network_of(self.module).body.block.ops if isinstance(op, kind)]
        return self.plan.subviews[ops[number].results[0]]


@pytest.fixture
def subview_of(make_network: MakeNetwork, make_plan: MakePlan) -> Callable[..., Placed]:
    """placed(shapes, write): the network that `write` writes, with its plan."""

    def subview(shapes: Sequence[Shape], write: Any) -> Placed:
        module = make_network(shapes, write)
        return Placed(module, make_plan(module))

    return subview


PlaceNetwork: TypeAlias = Callable[..., Placed]


# --- Flatten and Reshape are views ----------------------------------------------------------

VIEWS = """7767517
6 6
Input data 0 1 data 0=4 1=3 2=2
Sigmoid before 1 1 data hidden
Flatten flatten 1 1 hidden vector
Reshape reshape 1 1 vector matrix 0=6 1=4
Permute after 1 1 matrix turned 0=1
Sigmoid last 1 1 turned out
"""


def layers_of(call: func.CallOp) -> list[StringAttr]:
    held = call.attributes["layers"]
    assert isinstance(held, ArrayAttr)
    return [name for name in held.data if isinstance(name, StringAttr)]


@pytest.fixture(params=[0, 1, 2])
def levels(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, Any]:
    """The linalg level and the loops of a network that reshapes between two kernels."""
    path = tmp_path / "views.param"
    path.write_text(VIEWS)
    return {
        name: stage.clone() if isinstance(stage, ModuleOp) else stage
        for name, stage in stages(path, opt_level=request.param)
    }


def test_flatten_and_reshape_are_no_kernels(levels: dict[str, Any]) -> None:
    """No call carries the name of a Flatten or Reshape, and nothing is copied."""
    network = network_of(levels["linalg"])
    calls = [op for op in network.body.block.ops if isinstance(op, func.CallOp)]
    layers = {name.data for call in calls for name in layers_of(call)}
    assert "before" in layers and "after" in layers
    assert not layers & {"flatten", "reshape", "copy", "hidden", "vector", "matrix"}


def test_flatten_and_reshape_keep_the_address(levels: dict[str, Any]) -> None:
    """In the emitted code, what is written in front of them is read behind them: same buffer."""
    module: ModuleOp = levels["loops"]
    run = next(
        op
        for op in module.body.block.ops
        if isinstance(op, func.FuncOp) and op.sym_name.data == "run"
    )
    launches = [op for op in run.walk() if isinstance(op, rt.LaunchOp)]

    def buffers(launch: rt.LaunchOp) -> list[tuple[int, int]]:
        """Number and byte offset of each memref."""
        owners = [value.owner for value in launch.arguments]
        ops = [owner for owner in owners if isinstance(owner, rt.BufferOp)]
        return [(op.index.value.data, op.offset.value.data) for op in ops]

    first, second = launches[0], launches[1]
    (_, written), (read, *_) = buffers(first), buffers(second)
    assert written == read


def test_reshapes_are_the_same_memory(subview_of: PlaceNetwork) -> None:
    """Collapsing and expanding change strides, neither root nor offset."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = b.collapse(work(b, x), [[0, 1], [2]])
        return flip(b, b.reshape(y, (8, 3)))

    found = subview_of([(2, 3, 4)], write)
    for kind in (tensor.CollapseShapeOp, tensor.ExpandShapeOp):
        subview = found.subview(kind)
        assert subview.buffer is found.subview(func.CallOp).buffer and subview.offset == 0
    assert found.kernels == ["k0", "k1"]


# --- pads -----------------------------------------------------------------------------------


def test_a_padded_value_lives_inside_its_frame(subview_of: PlaceNetwork) -> None:
    """The producer writes with the frame's strides, one row and one column in; no copy."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return flip(b, b.pad(work(b, x), (1, 1), (0, 2)))

    found = subview_of([(3, 4)], write)
    inner, outer = found.subview(func.CallOp), found.subview(tensor.PadOp)
    assert inner.buffer is outer.buffer
    assert inner.strides == outer.strides == (7, 1) and inner.offset == 8
    assert found.kernels == ["k0", "k1"]
    assert [type(step) for step in found.plan.steps] == [Halo, Call, Call]


def test_a_pad_of_a_pad(subview_of: PlaceNetwork) -> None:
    """Frames nest: offsets add, and both frames are filled."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = b.pad(work(b, x), (1, 1), (1, 1))
        return flip(b, b.pad(y, (0, 2), (0, 0), 1.0))

    found = subview_of([(3, 4)], write)
    assert found.subview(func.CallOp).offset == 1 * 8 + 2 + 1
    assert found.copies == 0
    assert sum(isinstance(step, Halo) for step in found.plan.steps) == 2


def test_frames_nest_as_deep_as_a_file_says(subview_of: PlaceNetwork) -> None:
    """One cell in front for each of 400 pads: deeper than functions may call one another."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = work(b, x)
        for number in range(400):
            y = b.pad(y, (1, 0), (0, 0), float(number))
        return flip(b, y)

    found = subview_of([(3, 4)], write)
    assert found.subview(func.CallOp).offset == 400 * 4
    assert found.copies == 0


def test_a_value_in_frames_of_two_numbers_is_copied_once(subview_of: PlaceNetwork) -> None:
    """The first pad owns the value, the second gets a copy."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = work(b, x)
        return [flip(b, b.pad(y, (1, 1), (1, 1))), flip(b, b.pad(y, (1, 1), (1, 1), 2.0))]

    assert subview_of([(3, 4)], write).copies == 1


def test_a_padded_value_can_be_read_as_it_is(subview_of: PlaceNetwork) -> None:
    """A residual reads inside the frame: no copy."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = work(b, x)
        return [flip(b, b.pad(y, (1, 1), (1, 1))), flip(b, y)]

    assert subview_of([(3, 4)], write).copies == 0


def test_an_input_cannot_live_in_a_frame(subview_of: PlaceNetwork) -> None:
    """The caller's memory is where it is."""
    assert subview_of([(3, 4)], lambda b, x: flip(b, b.pad(x, (1, 1), (1, 1)))).copies == 1


def test_a_reshape_that_strides_refuse(subview_of: PlaceNetwork) -> None:
    """The rows inside a frame are not one vector: one copy, also for what is reshaped on."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = work(b, x)
        framed = flip(b, b.pad(y, (0, 1), (0, 1)))
        return [framed, flip(b, b.expand(b.collapse(y, [[0, 1]]), [[0, 1]], (2, 6)))]

    found = subview_of([(3, 4)], write)
    assert found.copies == 1


@pytest.mark.parametrize(("size", "copies"), [((4, 1), 1), ((1, 3), 0)])
def test_a_column_that_a_code_reads_is_copied(
    subview_of: PlaceNetwork, size: Shape, copies: int
) -> None:
    """Its vectors run along the last axis, where neighbours of a row lie, but none of a column."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        part = b.collapse(b.slice(x, (0, 0), size), [[0, 1]])
        code = Code([part], [(part.shape, f32)])
        with code.lanes(part.shape[0]) as k:
            code.results[0][k] = code.exp(code.inputs[0][k])
        return b.code(code.operation())

    found = subview_of([(4, 3)], write)
    assert found.copies == copies
    [call] = [step for step in found.plan.steps if isinstance(step, Call)][-1:]
    assert [subview.strides for subview in call.subviews] == [(1,), (1,)]


def test_values_are_claimed_once_for_many_copies(
    subview_of: PlaceNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many reshapes are refused, nothing is placed again for their copies."""
    claimed = 0

    def counted(module: ModuleOp) -> dict[str, int]:
        nonlocal claimed
        claimed += 1
        return chained(module)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        framed = [(work(b, x), k) for k in range(5)]
        halos = [flip(b, b.pad(y, (0, 1), (0, 1 + k))) for y, k in framed]
        return [
            *halos,
            *(flip(b, b.expand(b.collapse(y, [[0, 1]]), [[0, 1]], (2, 6))) for y, _ in framed),
        ]

    monkeypatch.setattr(subview, "chained", counted)
    assert subview_of([(3, 4)], write).copies == 5
    assert claimed == 1


# --- concat and slices ----------------------------------------------------------------------


def test_a_concat_of_producers(subview_of: PlaceNetwork) -> None:
    """Each producer writes its part; there is no kernel for the concat."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return flip(b, b.concat([work(b, x), work(b, x), work(b, x)], 0))

    found = subview_of([(3, 4)], write)
    assert found.kernels == ["k0", "k1", "k2", "k3"]
    assert [found.subview(func.CallOp, k).offset for k in range(3)] == [0, 12, 24]
    assert len({found.subview(func.CallOp, k).buffer for k in range(3)}) == 1


def test_a_concat_along_an_inner_axis(subview_of: PlaceNetwork) -> None:
    """Columns side by side: the same strides, other offsets."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        return flip(b, b.concat([work(b, x), work(b, y)], 1))

    found = subview_of([(3, 4), (3, 2)], write)
    first, second = found.subview(func.CallOp, 0), found.subview(func.CallOp, 1)
    assert first.strides == second.strides == (6, 1) and second.offset == 4


def test_a_concat_in_a_concat_in_a_frame(subview_of: PlaceNetwork) -> None:
    """Owners nest: offsets add."""

    def write(b: Builder, x: Tensor) -> Tensor:
        inner = b.concat([work(b, x), work(b, x)], 0)
        return flip(b, b.pad(b.concat([work(b, x), inner], 0), (1, 1), (1, 1)))

    found = subview_of([(2, 3)], write)
    assert found.copies == 0
    rows = [found.subview(func.CallOp, k).offset // 5 - 1 for k in range(3)]
    assert sorted(rows) == [0, 2, 4]


def test_a_value_joined_with_itself(subview_of: PlaceNetwork) -> None:
    """It has one place; the second is a copy."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = work(b, x)
        return flip(b, b.concat([y, y], 0))

    assert subview_of([(3, 4)], write).copies == 1


def test_a_kernel_whose_result_is_copied_makes_no_part(subview_of: PlaceNetwork) -> None:
    """The first value is copied where the copies of a concat begin, not in front of the kernel of
    the second, which makes a part of another concat.
    """

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        first, second = work(b, x), work(b, x)
        concats = [b.concat([first, second], 0), b.concat([second, first], 0)]
        return [flip(b, concat_op) for concat_op in concats]

    assert subview_of([(3, 4)], write).kernels == ["k0", "k1", "copy1", "copy0", "k2", "k3"]


def test_inputs_and_constants_are_copied_into_a_concat(subview_of: PlaceNetwork) -> None:
    """Neither is made by a kernel that could write elsewhere."""

    def write(b: Builder, x: Tensor) -> Tensor:
        weight = b.weight(WeightAttr.of(np.ones((3, 4), np.float32)))
        return flip(b, b.concat([x, weight, work(b, x)], 0))

    assert subview_of([(3, 4)], write).copies == 2


def test_slices_are_views(subview_of: PlaceNetwork) -> None:
    """A box of a value is its memory from an offset on."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = work(b, x)
        return [flip(b, b.slice(y, (1, 1), (2, 3))), flip(b, y)]

    found = subview_of([(3, 4)], write)
    subview = found.subview(tensor.ExtractSliceOp)
    assert subview.buffer is found.subview(func.CallOp).buffer
    assert subview.offset == 5 and subview.strides == (4, 1)
    assert found.copies == 0


# --- results --------------------------------------------------------------------------------


def test_a_result_is_written_in_place(subview_of: PlaceNetwork) -> None:
    """Also through a reshape, and where other kernels read it."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = work(b, x)
        return [b.collapse(y, [[0, 1]]), flip(b, y)]

    found = subview_of([(3, 4)], write)
    assert found.copies == 0
    assert [buffer.kind for buffer in found.plan.outputs] == [Kind.OUTPUT, Kind.OUTPUT]
    assert found.subview(func.CallOp).buffer is found.plan.outputs[0]
    assert found.plan.arena_bytes == 0


@pytest.mark.parametrize("what", ["input", "constant", "slice", "twice", "padded too", "concat"])
def test_results_that_need_a_copy(subview_of: PlaceNetwork, what: str) -> None:
    """What is elsewhere already is copied to the caller's array: one copy each."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = work(b, x)
        match what:
            case "input":
                return [x]
            case "constant":
                return [b.weight(WeightAttr.of(np.ones((3, 4), np.float32)))]
            case "slice":
                return [b.slice(y, (1, 0), (1, 4))]
            case "twice":
                return [y, y]
            case "concat":
                return [b.concat([y, work(b, x)], 0), y]
        return [flip(b, b.pad(y, (1, 1), (1, 1))), y]

    assert subview_of([(3, 4)], write).copies == 1


# --- chains ---------------------------------------------------------------------------------


def phases(b: Builder, x: Tensor, begin: Tensor) -> Tensor:
    """Two kernels that fill the even and the odd columns of one result."""
    for phase in (0, 1):
        y, z = b.loops_of(x.shape)
        begin = b.map((y, z * 2 + phase), x[y, z], into=begin)
    return begin


def test_chained_kernels_share_memory(subview_of: PlaceNetwork) -> None:
    """Each goes on writing where the one before left off."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return flip(b, phases(b, x, b.full((3, 8), 0.0)))

    found = subview_of([(3, 4)], write)
    buffers = [found.subview(func.CallOp, k).buffer for k in range(3)]
    assert buffers[0] is buffers[1] is buffers[2]
    assert found.copies == 0


def test_a_chain_spares_what_others_read(subview_of: PlaceNetwork) -> None:
    """A value with another reader is copied before it is overwritten."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        begin = work(b, y)
        return [flip(b, begin), flip(b, phases(b, x, begin))]

    assert subview_of([(3, 4), (3, 8)], write).copies == 1


def test_a_chain_spares_the_input(subview_of: PlaceNetwork) -> None:
    """Nothing is written into the caller's array."""
    found = subview_of([(3, 4), (3, 8)], lambda b, x, y: flip(b, phases(b, x, y)))
    assert found.copies == 1
    for step in found.plan.steps:
        if isinstance(step, Call):
            assert all(subview.buffer.kind is not Kind.INPUT for subview in step.results)


def test_a_value_is_collapsed_within_its_owner(subview_of: PlaceNetwork) -> None:
    """Rows that are one in a concat keep their distance in front of the reshape."""

    def write(b: Builder, x: Tensor) -> Tensor:
        rows = b.collapse(flip3(b, x), [[0], [1, 2]])
        return b.concat([rows, rows_of(b, x)], axis=1)

    def flip3(b: Builder, x: Tensor) -> Tensor:
        c, y, z = b.loops_of((x.shape[0], x.shape[2], x.shape[1]))
        return b.map((c, y, z), x[c, z, y])

    def rows_of(b: Builder, x: Tensor) -> Tensor:
        c, y = b.loops_of(x.shape[:2])
        return b.map((c, y), x[c, y, 0] * 2.0)

    found = subview_of([(2, 8, 4)], write)
    assert found.copies == 0
    assert found.subview(func.CallOp).strides == (40, 8, 1)
    assert found.subview(tensor.CollapseShapeOp).strides == (40, 1)


# --- clips ----------------------------------------------------------------------------------


def tiles(b: Builder, x: Tensor, kept: int) -> Tensor:
    """Two rows and columns of tiles of 4, of which a transform writes so many points an axis."""
    t, r, u, s = b.loops("t:2 r:4 u:2 s:4")
    y = b.map((t, r, u, s), exp(x[t * 4 + r, u * 4 + s]))
    matrix = ArrayAttr([ArrayAttr([FloatAttr(1.0, f32)])])
    generic_op = generic_of(y)
    generic_op.attributes["separable"] = ArrayAttr([matrix, matrix])
    VALID_EXTENTS.put(generic_op, ((0, 1, kept), (2, 3, kept)))
    return b.collapse(y, [[0, 1], [2, 3]])


def test_tiles_are_written_where_their_box_is(subview_of: PlaceNetwork) -> None:
    """The memory is that of what is kept: the points beyond it are not written."""
    found = subview_of([(8, 8)], lambda b, x: flip(b, b.slice(tiles(b, x, 6), (0, 0), (6, 6))))
    subview, box = found.subview(func.CallOp), found.subview(tensor.ExtractSliceOp)
    assert subview.buffer is box.buffer and subview.buffer.elements == 36
    assert subview.strides == (24, 6, 4, 1) and box.strides == (6, 1)


def test_a_box_amid_tiles_is_a_view(subview_of: PlaceNetwork) -> None:
    """What lies in front of it is written, too, and has to have its place."""
    found = subview_of([(8, 8)], lambda b, x: flip(b, b.slice(tiles(b, x, 6), (1, 2), (5, 4))))
    subview, box = found.subview(func.CallOp), found.subview(tensor.ExtractSliceOp)
    assert subview.buffer is box.buffer and subview.buffer.elements == 64
    assert subview.strides == (32, 8, 4, 1) and (box.offset, box.strides) == (10, (8, 1))


def test_tiles_for_two_readers_lie_whole(subview_of: PlaceNetwork) -> None:
    """The box of the one is not all that the other reads."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        y = tiles(b, x, 6)
        return [flip(b, b.slice(y, (0, 0), (size, size))) for size in (5, 6)]

    found = subview_of([(8, 8)], write)
    assert found.subview(func.CallOp).buffer.elements == 64
    for number in (0, 1):
        box = found.subview(tensor.ExtractSliceOp, number)
        assert (box.buffer, box.offset) == (found.subview(func.CallOp).buffer, 0)
        assert box.strides == (8, 1)


# --- results whose rows are counted ---------------------------------------------------------


def counted(b: Builder, x: Tensor) -> list[Tensor]:
    """Rows, and how many there are."""
    code = Code([x], [(x.shape, f32), ((1,), i64)])
    return list(b.code(code.operation()))


@pytest.mark.parametrize("how", ["returned", "read", "framed"])
def test_the_count_of_rows_stands_in_front_of_an_output(subview_of: PlaceNetwork, how: str) -> None:
    """Those that are returned begin behind their header; others, and their count, in the arena."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        rows, _ = counted(b, x)
        match how:
            case "returned":
                return [flip(b, x), rows]
            case "framed":
                rows = b.pad(rows, (1, 1), (1, 1))
        return [flip(b, x), flip(b, rows)]

    found = subview_of([(3, 4)], write)
    ops = network_of(found.module).body.block.ops
    [call] = [op for op in ops if isinstance(op, func.CallOp) and len(op.results) == 2]
    rows, count = (found.plan.subviews[result].buffer for result in call.results)
    if how == "returned":
        assert rows is found.plan.outputs[1] and rows.byte_offset == DYNAMIC_HEADER
        assert (count.kind, count.number, count.byte_offset) == (Kind.OUTPUT, 1, 0)
    else:
        assert rows.kind is count.kind is Kind.ARENA


def test_an_output_without_a_count_has_no_header(subview_of: PlaceNetwork) -> None:
    """Its memory begins with its first cell."""
    found = subview_of([(3, 4)], flip)
    [buffer] = found.plan.outputs
    assert (buffer.kind, buffer.byte_offset) == (Kind.OUTPUT, 0)
