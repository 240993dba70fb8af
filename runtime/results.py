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


class _Block(NamedTuple):
    """Memory that a result can lie in, where in it that begins, and its address there."""

    memory: Array
    start: int
    address: int


def _references(blocks: list[_Block]) -> int:
    """How many there are to the memory of the first."""
    return sys.getrefcount(blocks[0].memory)


_ALONE = _references([_Block(np.empty(0, np.uint8), 0, 0)])


class Results:
    """The results of one output, in runs that follow one another.

    A page that the system has just given is a fault where it is first written, which takes longer
    than to write it. So a result lies in the memory of an earlier one, once nobody refers to that
    one nor to a view of it: numpy has all of these refer to the memory.
    """

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self._dtype = np.dtype(binding.dtype)
        self._blocks: list[_Block] = []

    def make(self, counted: Mapping[int, int] = MappingProxyType({})) -> tuple[Array, int]:
        """An array that nobody else has, of anything, and the address of its buffer.

        The buffer is aligned to ALIGNMENT; that of a dynamic output begins DYNAMIC_HEADER bytes
        before the array.
        """
        binding, spare = self._binding, 0
        if binding.axis >= 0:
            binding = replace(binding, shape=binding.grown(counted), axis=-1)
            spare = binding.nbytes // SPARE
        memory, start, address = self._free_block(binding.nbytes + ALIGNMENT, spare)
        start += DYNAMIC_HEADER * binding.dynamic
        return np.ndarray(binding.shape, self._dtype, memory, start), address

    def _free_block(self, size: int, spare: int) -> _Block:
        """One of so many bytes or some more. Those that were asked for last stand in front."""
        blocks = self._blocks
        for _ in blocks:
            blocks.insert(0, blocks.pop())
            if _references(blocks) == _ALONE and size <= blocks[0].memory.size <= 2 * size + spare:
                return blocks[0]
        memory = np.empty(size + spare, np.uint8)
        address = address_of(memory)
        start = -address % ALIGNMENT
        blocks.insert(0, _Block(memory, start, address + start))
        del blocks[MOST_KEPT:]
        return blocks[0]


def address_of(array: Array) -> int:
    """Where a contiguous array begins; by a view, which is made sooner, if it may be written."""
    if array.flags.writeable and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    address: int = array.__array_interface__["data"][0]
    return address
