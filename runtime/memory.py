"""Anonymous memory outside Python's heap: for arenas, thread state, and machine code."""

from __future__ import annotations

import ctypes
import mmap
import os

from ncc.runtime.errors import NccError

PAGE = mmap.PAGESIZE

# From this size on the kernel is asked for huge pages: an arena of some megabytes read through
# 4 KB pages spends a good part of its time in TLB misses.
HUGE = 2 << 20

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
_libc.mprotect.restype = ctypes.c_int


def give_back() -> None:
    """Return the memory that the C library keeps after `free` to the system.

    It keeps all below the last that is in use, which may be most of what was in use meanwhile. A C
    library other than glibc decides by itself.
    """
    trim = getattr(_libc, "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def _whole_pages(size: int) -> int:
    """So many bytes in whole pages: huge ones where they pay, since Linux then aligns them."""
    page = HUGE if size >= HUGE else PAGE
    return max(PAGE, -(-size // page) * page)


class Memory:
    """Zeroed private pages, readable and writable; given back when the object dies.

    The user of `address` must keep the object alive. A size of 0 is one page.
    """

    def __init__(self, size: int) -> None:
        self.size = _whole_pages(size)
        try:
            self._pages = mmap.mmap(-1, self.size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except (OSError, OverflowError, ValueError) as error:
            raise NccError(f"no memory for {size} bytes: {error}") from error
        self._note_pages()

    def grow(self, size: int) -> None:
        """Have room for so many bytes, at another `address`. What was written stays.

        The system moves the pages, without a copy. It makes only those that are new, which takes
        longer than to write them.
        """
        whole = _whole_pages(size)
        if whole <= self.size:
            return
        try:
            self._pages.resize(whole)
        except (OSError, OverflowError, ValueError) as error:
            raise NccError(f"no memory for {size} bytes: {error}") from error
        self.size = whole
        self._note_pages()

    def _note_pages(self) -> None:
        """Ask for huge pages where they pay, and note where the pages are."""
        if self.size >= HUGE:
            try:
                self._pages.madvise(mmap.MADV_HUGEPAGE)
            except OSError:
                pass  # a kernel built without huge pages: the memory is as good, only slower
        self.address: int = ctypes.addressof(ctypes.c_char.from_buffer(self._pages))

    @property
    def bytes(self) -> memoryview:
        """All pages as writable bytes. Not to be touched after `make_executable`."""
        return memoryview(self._pages)

    def make_executable(self, start: int, size: int) -> None:
        """Turn whole pages into read-only code; they were written before, and never are again.

        Memory is never writable and executable at once. start: a multiple of PAGE.
        """
        if size and _libc.mprotect(self.address + start, size, mmap.PROT_READ | mmap.PROT_EXEC):
            reason = os.strerror(ctypes.get_errno())
            raise NccError(f"this system does not let ncc run machine code: {reason}")
