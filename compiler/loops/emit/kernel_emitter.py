"""The parts that every emitter has."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ncc.compiler.loops.emit.body import Body
from ncc.compiler.loops.emit.epilogue import Epilogue
from ncc.compiler.loops.emit.parallel_loops import ParallelLoops
from ncc.compiler.loops.emit.position import Part, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule


class KernelEmitter(Part, ABC):
    """Writes one kernel by its schedule, with parts that write at one position."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(Position(kernel, schedule))
        self.reads = Reads(self.position)
        self.body = Body(self.position, self.reads)
        self.epilogue = Epilogue(self.position, self.reads, self.body)
        self.loops = ParallelLoops(self.position)

    @abstractmethod
    def write(self) -> None:
        """Write the body of the function."""
