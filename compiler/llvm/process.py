"""LLVM in a process of its own, which makes machine code while this one writes the next kernel.

In a thread it would cost this process a quarter of its time: between any two calls of LLVM each
waits for the interpreter's lock, and whenever one takes or gives memory, for the system's.

This file is both ends: the class for the caller, and the worker (`python -m
ncc.compiler.llvm.process`), which reads texts from stdin and answers with objects.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from types import TracebackType
from typing import BinaryIO

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.object_code import STAGE, USUAL, emit_object
from ncc.compiler.target import Target


class LlvmProcess:
    """The caller's end. The process starts at once, is ready a tenth of a second later, and ends
    with the block, or with this process.
    """

    def __init__(self) -> None:
        # It finds ncc and llvmlite where this process found them, and nothing where the user is.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "ncc.compiler.llvm.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            # An interruption from the terminal is this process's business.
            process_group=0,
        )

    def __enter__(self) -> LlvmProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def emit_object(self, text: str, target: Target, effort: int = USUAL) -> bytes:
        """As object_code.emit_object, for one caller at a time.

        Raises CompilerBug, also where LLVM ends the process instead of refusing.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None and stdout is not None
        try:
            pickle.dump((text, target, effort), stdin)
            stdin.flush()
            answer: bytes | CompilerBug = pickle.load(stdout)
        except (BrokenPipeError, EOFError, pickle.UnpicklingError) as end:
            code = self._process.wait()
            raise CompilerBug(f"LLVM ended with {code}", pass_name=STAGE, dump=text) from end
        if isinstance(answer, CompilerBug):
            raise answer
        return answer


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """The worker's end: an object, or an error, for each text, until there are no more."""
    while True:
        try:
            text, target, effort = pickle.load(requests)
        except EOFError:
            return
        answer: bytes | CompilerBug
        try:
            answer = emit_object(text, target, effort)
        except CompilerBug as bug:
            answer = bug
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
