"""The arrays that runs return, and their memory, which later runs use again.

The operating system provides each new page with a page fault, which takes longer than to write the
page. So a result uses the memory of an earlier one. It owns a loan of that memory, and hands it
back when nobody refers to the result any more. Two blocks are kept of each output, for callers that
hold a result until they have the next one.
"""

from __future__ import annotations

import ctypes
from collections import deque
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ncc.runtime.artifact import ALIGNMENT, DYNAMIC_HEADER, Binding
from ncc.runtime.extents import Shape

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"

MOST_KEPT = 2
"""Blocks kept of an output: callers often hold a result until they have the next."""

SPARE = 8
"""An output of an open shape gets memory for this part more than it needs: a cache is larger in the
next run.
"""


def address_of(array: Array) -> int:
    """Where a contiguous array begins; by a view, which is made sooner, if it may be written."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array.data))
    except (TypeError, ValueError):  # It may not be written, or has no elements.
        address: int = array.__array_interface__["data"][0]
        return address


class _Block(NamedTuple):
    """Memory that a result can lie in, and its first aligned address."""

    memory: Array
    address: int

    @staticmethod
    def of(size: int) -> _Block:
        """A new one with room for so many bytes.

        They are zeros: a step without work leaves its place among timestamps as it is.
        """
        memory = np.zeros(size + ALIGNMENT, np.uint8)
        begin = address_of(memory)
        return _Block(memory, begin + -begin % ALIGNMENT)


class _Loan:
    """Owns a block while somebody refers to the result in it, and then hands it back.

    numpy makes the array by `__array_interface__`, and the array refers to this object. Views,
    memoryviews and tensors of other libraries refer to the array.
    """

    __slots__ = ("__array_interface__", "_block", "_free")

    def __init__(self, block: _Block, free: deque[_Block], interface: dict[str, Any]) -> None:
        self._block, self._free = block, free
        self.__array_interface__ = interface

    def __del__(self) -> None:
        self._free.append(self._block)


class Results:
    """The results of one output, in successive runs.

    A deque takes and hands out blocks in one step each: results may end in any thread.
    """

    def __init__(self, binding: Binding) -> None:
        self._binding, self._size = binding, 0 if binding.is_open else binding.nbytes
        self._header = DYNAMIC_HEADER * binding.dynamic
        self._typestr = np.dtype(binding.dtype).str
        self._free: deque[_Block] = deque(maxlen=MOST_KEPT)
        """Free blocks."""

    def make(self, shape: Shape | None = None) -> tuple[Array, int]:
        """An array that nobody else has, of anything, and the address of its buffer.

        shape: of an output whose shape is open.

        The buffer is aligned to ALIGNMENT; that of a dynamic output begins DYNAMIC_HEADER bytes
        before the array.
        """
        size, spare = self._size, 0
        if shape is None:
            shape = self._binding.shape
        else:
            size = self._binding.bytes_of(shape)
            spare = size // SPARE
        block = self._block(size, spare)
        interface = {
            "version": 3,
            "shape": shape,
            "typestr": self._typestr,
            "data": (block.address + self._header, False),
        }
        return np.asarray(_Loan(block, self._free, interface)), block.address

    def _block(self, size: int, spare: int) -> _Block:
        """A block of so many bytes or some more: one that is free, or a new one."""
        least = size + ALIGNMENT
        for _ in range(len(self._free)):
            try:
                block = self._free.popleft()
            except IndexError:  # another run was faster
                break
            if least <= block.memory.size <= 2 * least + spare:
                return block
            self._free.append(block)
        return _Block.of(size + spare)
