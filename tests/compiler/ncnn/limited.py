"""Compilations in processes that may have little memory and little time: what comes of each.

    python -m tests.compiler.ncnn.limited 1500000000 60

reads requests from stdin, a line of JSON each (the arguments of `compiled`), and answers each with
a line: `ok`, the error of ncc that refused it, or `BAD` and what else happened. Each is compiled,
but for its machine code, by a fork that may take so many bytes more than it begins with, and so
many seconds.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path

from ncc.compiler.artifact.from_plan import constants
from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.runtime.errors import InputError

# Imported here, so that no fork does.
import ncc.compiler.loops.schedule.choose  # noqa: F401  # isort: skip
import ncc.compiler.passes  # noqa: F401  # isort: skip


def compiled(
    text: str, shapes: Mapping[str, list[int]], types: Mapping[str, str], level: int
) -> str:
    """Down to the loops and the packed constants; what refused it, if anything did."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "net.param")
        path.write_text(text)
        given = {name: tuple(shape) for name, shape in shapes.items()}
        options = Options.of(
            random_weights=1,
            opt_level=level,
            input_shapes=given,
            input_types=types,
            target="avx512",
        )
        compilation = Compilation(path, None, options)
        try:
            module, plan = compilation.planned
            compilation.loops(module, plan)
            constants(plan).packed()
        except (ModelError, Unsupported, InputError) as error:
            return f"{type(error).__name__}: {error}".replace("\n", " ")
        return "ok"


def answer(request: str, memory: int, seconds: int) -> str:
    """What comes of a request in a fork of its own."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        try:
            held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (held + memory, held + memory))
            signal.alarm(seconds)
            said = compiled(**json.loads(request))
        except BaseException as error:
            where = [
                f"{frame.filename}:{frame.lineno}"
                for frame in traceback.extract_tb(error.__traceback__)
            ]
            said = f"BAD {type(error).__name__}: {error} at {' < '.join(where[:-4:-1])}".replace(
                "\n", " "
            )
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return said or f"BAD ended by {os.waitstatus_to_exitcode(status)}"


if __name__ == "__main__":
    for line in sys.stdin:
        print(answer(line, int(sys.argv[1]), int(sys.argv[2])), flush=True)
