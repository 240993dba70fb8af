"""The table of each family of processors, by its name in LLVM's triples."""

from __future__ import annotations

from collections.abc import Mapping

from ncc.compiler.llvm.processors.aarch64 import AARCH64
from ncc.compiler.llvm.processors.processor import Processor
from ncc.compiler.llvm.processors.riscv64 import RISCV64
from ncc.compiler.llvm.processors.x86_64 import X86_64
from ncc.compiler.target import Target

PROCESSORS: Mapping[str, Processor] = {
    "x86_64": X86_64,
    "aarch64": AARCH64,
    "riscv64": RISCV64,
}


def processor_of(target: Target) -> Processor:
    """The processor of a target."""
    return PROCESSORS[target.architecture]
