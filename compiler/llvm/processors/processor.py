"""A family of processors, as far as code names instructions that LLVM would not choose by itself.

Everything else is LLVM's IR, from which each code generator of LLVM makes what its processor has. A
lowering asks the table of its target, and never which processor this is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Processor:
    """The instructions that code for a family of processors names.

    family           the word that its intrinsics have behind `llvm.`
    extremum         lhs if it is larger (`max`) or smaller (`min`), otherwise rhs, also for NaN, by
                     the number of float32
    keeps_nan        whether the generic `llvm.maximum` and `llvm.maxnum` are one instruction each
    paired_products  a[2 k] * b[2 k] + a[2 k + 1] * b[2 k + 1] of int16, by the number of sums;
                     without a name LLVM finds the instructions in products of whole vectors
    dot_bytes        %sum + four products of bytes, %x times signed %w, by the number of sums
    dot_signed_bytes the same where %x is signed, too, with the operands %sum, %w, %x: the last one
                     may be one word of a vector
    matrix_bytes     %sum + 2 x 8 signed bytes %x times the transpose of 2 x 8, %w
    nearest          the int32 nearest to float32, halves away from zero, by their number; 0 is the
                     number of a scalar
    short_vectors    whether vectors may have four bytes; otherwise such a load is one of a word
    threads          LLVM text of what `compiler/llvm/threads.py` builds on, for Linux:

        void ncc.futex_wait(i32 *word, i32 seen)    sleep while the word is `seen`, or return
        void ncc.futex_wake(i32 *word)              wake all that sleep on the word
        void ncc.pause()                            tell the core that this thread spins
        i64 ncc.ticks()                             a counter that any program may read
        i64 ncc.patience(i64 ticks)                 its ticks while one of 2 GHz has so many
        void ncc.flush(i32 *saved)                  denormal numbers are zeros from now on
        void ncc.restore(i32 *saved)                the mode before
    """

    family: str
    threads: str
    extremum: Mapping[int, str] = field(default_factory=dict)
    keeps_nan: bool = False
    paired_products: Mapping[int, str] = field(default_factory=dict)
    dot_bytes: Mapping[int, str] = field(default_factory=dict)
    dot_signed_bytes: Mapping[int, str] = field(default_factory=dict)
    matrix_bytes: str | None = None
    nearest: Mapping[int, str] = field(default_factory=dict)
    short_vectors: bool = True
