"""The arrays that runs hand out, and the memory under them, kept for later runs."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ncc.runtime.artifact import ALIGNMENT, DYNAMIC_HEADER, Binding

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

MOST_KEPT = 2
"""Blocks kept of an output: callers often hold a result until they have the next."""

SPARE = 8
"""What grows from run to run has room for one more of so many parts."""


def address_of(array: Array) -> int:
    """Where a contiguous array begins; by a view, which is made sooner, if it may be written."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # It may not be written, or has no elements.
        address: int = array.__array_interface__["data"][0]
        return address


class _Block(NamedTuple):
    """Memory that a result can lie in, where in it that begins, its buffer's address, and one."""

    memory: Array
    start: int
    address: int
    result: Array

    def references(self) -> int:
        """How many there are to the memory."""
        return sys.getrefcount(self.memory)


def _block(binding: Binding, size: int) -> _Block:
    """A new one, of so many bytes, for this output."""
    memory = np.empty(size, np.uint8)
    begin = address_of(memory)
    address = begin + -begin % ALIGNMENT
    start = address - begin + DYNAMIC_HEADER * binding.dynamic
    result = np.ndarray(binding.shape, np.dtype(binding.dtype), memory, start)
    return _Block(memory, start, address, result)


_ALONE = _block(Binding("", (0,)), ALIGNMENT).references()


class Results:
    """The results of one output, in runs that follow one another.

    A page that the system has just given is a fault where it is first written, which takes longer
    than to write it. So a result lies in the memory of an earlier one, once nobody refers to that
    one nor to a view of it: numpy has all of these refer to the memory.
    """

    def __init__(self, binding: Binding) -> None:
        self._binding, self._size = binding, binding.nbytes + ALIGNMENT
        self._blocks: list[_Block] = []

    def make(self, counted: Mapping[int, int] = MappingProxyType({})) -> tuple[Array, int]:
        """An array that nobody else has, of anything, and the address of its buffer.

        The buffer is aligned to ALIGNMENT; that of a dynamic output begins DYNAMIC_HEADER bytes
        before the array.
        """
        if self._binding.axis < 0:
            block = self._free_block(self._binding, self._size, 0)
            return block.result[...], block.address
        binding = replace(self._binding, shape=self._binding.grown(counted), axis=-1)
        size = binding.nbytes + ALIGNMENT
        block = self._free_block(binding, size, binding.nbytes // SPARE)
        shown = np.ndarray(binding.shape, block.result.dtype, block.memory, block.start)
        return shown, block.address

    def _free_block(self, binding: Binding, size: int, spare: int) -> _Block:
        """One of so many bytes or some more. Those that were asked for last stand in front."""
        blocks = self._blocks
        for _ in blocks:
            block = blocks.pop()
            blocks.insert(0, block)
            if block.references() == _ALONE and size <= block.memory.size <= 2 * size + spare:
                return block
        block = _block(binding, size + spare)
        blocks.insert(0, block)
        del blocks[MOST_KEPT:]
        return block
