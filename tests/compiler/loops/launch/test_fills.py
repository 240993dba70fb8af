"""What the kernel of a border stores, and what it leaves alone."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32

from ncc.compiler.cost_model import CostModel
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.loops.launch.fills import USUAL, Fills
from ncc.compiler.loops.launch.halos import boxes
from ncc.compiler.plan import Buffer, Halo, Kind, Subview
from ncc.compiler.target import Target
from ncc.dialects.element import BLOB_ELEMENTS, element_of
from ncc.dialects.size import Size
from ncc.dialects.structured import empty
from ncc.runtime.machine_code import MachineCode

OWN = 7


def halo_of(
    shape: Sequence[int], low: tuple[int, ...], high: tuple[int, ...], gap: int, dtype: str = "f4"
) -> Halo:
    """A frame of ones in memory of its own, each row `gap` cells longer than it need be."""
    element = BLOB_ELEMENTS[np.dtype(dtype).name]
    value = empty(shape, element).tensor
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n + gap)
    size = np.dtype(dtype).itemsize
    buffer = Buffer(Kind.ARENA, 4 + strides[0] * shape[0], size, 0, value)
    return Halo(Subview(buffer, 2, tuple(strides)), tuple(shape), low, high, 1.0)


def fills_of(halo: Halo) -> Fills:
    element = element_of(halo.subview.buffer.value)
    costs = CostModel().threads
    return Fills.of(tuple(boxes(halo)), halo.subview, halo.value, element, costs)


def check(
    halos: Sequence[Halo], dtype: str = "f4", extents: Mapping[str, int] | None = None
) -> None:
    """Frames hold ones then, whatever chunks come first, and all else what it held before.

    extents: of the inputs, where sizes depend on them.
    """
    known = partial(changed, change=lambda size: size.form.value(extents or {}))
    target = Target.of("host")
    found = [fills_of(halo) for halo in halos]
    kernels = {fills.text: fills for fills in found}
    names = {text: f"kernel_{n}" for n, text in enumerate(kernels)}
    functions = [kernels[text].write(name, target.lanes) for text, name in names.items()]
    for function in functions:
        del function.properties["sym_visibility"]
    module = ModuleOp(functions)
    module.verify()
    code = MachineCode([emit_object(emit_llvm(lower(module, target), target, ""), target)])
    for frame, fills in zip(halos, found, strict=True):
        halo, numbers, chunks = known((frame, fills.numbers, fills.chunks))
        memory = np.full(halo.subview.buffer.elements, OWN, dtype)
        expected = memory.copy()
        strides = [np.dtype(dtype).itemsize * n for n in halo.subview.strides]
        begin = halo.subview.offset
        cells = np.lib.stride_tricks.as_strided(expected[begin:], halo.shape, strides)
        cells[...] = 1
        own = zip(halo.low, halo.shape, halo.high, strict=True)
        cells[tuple(slice(low, n - high) for low, n, high in own)] = OWN
        types = [ctypes.c_void_p] + [ctypes.c_int64] * (len(numbers) + 2)
        kernel = ctypes.CFUNCTYPE(None, *types)(code.address(names[fills.text]))
        half = chunks // 2
        for first, last in ((half, chunks), (0, half)):
            kernel(memory[begin:].ctypes.data, *numbers, first, last)
        np.testing.assert_array_equal(memory, expected)


def test_random_frames() -> None:
    """Dense ones and others, of few cells in a row and of many."""
    draw, halos = random.Random(7), list[Halo]()
    while len(halos) < 60:
        rank = draw.randint(1, 4)
        low = tuple(draw.choice([0, 0, 1, 2, 23]) for _ in range(rank))
        high = tuple(draw.choice([0, 0, 1, 3, 38]) for _ in range(rank))
        shape = [lo + draw.randint(1, 4) + hi for lo, hi in zip(low, high, strict=True)]
        if any(low) or any(high):
            halos.append(halo_of(shape, low, high, draw.choice([0, 0, 5])))
    check(halos)


def test_borders_of_any_size() -> None:
    """One kernel, told by the run: some boxes have no cells then."""
    h, w = Size.symbol("h", 9), Size.symbol("w", 5)
    halos = [
        halo_of((16, h + 2, w + 3), (0, 1, 1), (0, 1, 2), 0),
        halo_of((h, w + h, 16), (0, h - 1, 0), (0, 1, 0), 0),
        halo_of((h + w, 7), (w, 0), (0, 0), 5),
        halo_of((4, h + 3, w + w // 2, 16), (0, 1, 0, 0), (0, 2, w // 2, 0), 0),
    ]
    for extents in ({"h": 1, "w": 1}, {"h": 2, "w": 1}, {"h": 5, "w": 40}):
        check(halos, extents=extents)


@pytest.mark.parametrize("dtype", ["i1", "f2", "i4"])
def test_other_elements(dtype: str) -> None:
    """Whole numbers are stored as well as floats, of any size."""
    check([halo_of((3, 6, 46), (0, 1, 1), (0, 2, 40), 0, dtype)], dtype)


def test_borders_in_blocks_share_a_kernel() -> None:
    """However large the image is, and however many of its sides have a border."""
    halos = [
        halo_of((channels, 9, width, 16), (0, *low, 0), (0, *high, 0), 0)
        for channels in (1, 2, 5)
        for width in (6, 8)
        for low, high in (((1, 1), (1, 1)), ((0, 0), (1, 1)), ((0, 1), (0, 1)), ((2, 2), (0, 0)))
    ]
    texts = {fills_of(halo).text for halo in halos}
    assert len(texts) == 1 and fills_of(halos[0]).depths == USUAL
    check(halos)


def test_values_share_a_kernel() -> None:
    """It is told what to store: the bits of a number, whatever they mean."""
    halo = halo_of((2, 3, 4), (0, 1, 1), (0, 1, 1), 0)
    one, other = fills_of(halo), fills_of(halo_of((2, 3, 4), (0, 1, 1), (0, 1, 1), 0, "i4"))
    lowest = Fills(one.kernels, -3.4028234663852886e38, f32)
    assert one.text == other.text == lowest.text
    assert [fills.numbers[0] for fills in (one, other, lowest)] == [0x3F800000, 1, -0x800001]


def test_elements_of_other_sizes_have_kernels_of_their_own() -> None:
    """As many bits as they have are stored."""
    halos = [halo_of((2, 3, 4), (0, 1, 1), (0, 1, 1), 0, dtype) for dtype in ("i1", "f2", "f4")]
    assert len({fills_of(halo).text for halo in halos}) == 3
