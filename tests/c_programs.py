"""C programs for tests: that run a network of a library on arrays, and how they are compiled."""

from __future__ import annotations

import ctypes
import io
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.library.make import write_library
from ncc.compiler.library.signature import INFER_SHAPES, Argument, Signature
from ncc.runtime.artifact import Artifact

Arrays = Mapping[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Toolchain:
    """A C compiler, and the command in front of its programs."""

    cc: str
    runner: tuple[str, ...] = ()


NATIVE = Toolchain("cc")
AARCH64 = Toolchain("aarch64-linux-gnu-gcc", ("qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"))
RISCV64 = Toolchain(
    "riscv64-linux-gnu-gcc",
    (
        os.environ.get("NCC_QEMU_RISCV64", "qemu-riscv64"),
        *("-cpu", "rv64,v=true,vlen=128,vext_spec=v1.0", "-L", "/usr/riscv64-linux-gnu"),
    ),
)


def _needs(toolchain: Toolchain) -> pytest.MarkDecorator:
    commands = toolchain.cc, toolchain.runner[0]
    missing = [command for command in commands if shutil.which(command) is None]
    return pytest.mark.skipif(bool(missing), reason=f"there is no {' and no '.join(missing)}")


emulated = _needs(AARCH64)
emulated_riscv64 = _needs(RISCV64)

VALGRIND = (
    "valgrind", "--quiet", "--error-exitcode=80", "--leak-check=full", "--show-leak-kinds=all",
    "--errors-for-leak-kinds=all", "--fair-sched=yes",
)  # fmt: skip
needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="there is no valgrind")

CC = shutil.which("cc")
needs_cc = pytest.mark.skipif(CC is None, reason="there is no C compiler (cc)")
CXX = shutil.which("c++")
VERSION = "0.0"

WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic")
STATIC, SHARED = "static", "shared"

_MAIN = """
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "%(net)s.h"

/* THREADS RUNS INPUTS OUTPUTS [WEIGHTS]: what a call tells and inputs from one file, outputs to
   another. */
static void *some(size_t bytes) { void *p = malloc(bytes + 1); if (!p) exit(90); return p; }
static void get(FILE *file, void *to, size_t bytes) {
  if (fread(to, 1, bytes, file) != bytes) exit(91);
}
static void put(FILE *file, const void *from, size_t bytes) {
  if (fwrite(from, 1, bytes, file) != bytes) exit(92);
}

int main(int count, char **words) {
  FILE *file = fopen(words[3], "rb");
  const void *weights = NULL;
  if (!file) return 93;
  if (count > 5) {
    int opened = open(words[5], O_RDONLY);
    weights = mmap(NULL, %(NET)s_WEIGHTS_BYTES, PROT_READ, MAP_PRIVATE, opened, 0);
    if (weights == MAP_FAILED) return 94;
  }
%(allocate)s
  fclose(file);
  %(net)s *net = %(net)s_create(weights, atoi(words[1]));
  if (!net) return 95;
  for (int run = 0; run < atoi(words[2]); run++) {
    int error = %(net)s_run(%(arguments)s);
    if (error) return error;
  }
  %(net)s_destroy(net);
  file = fopen(words[4], "wb");
  if (!file) return 96;
%(store)s
%(free)s
  return fclose(file) ? 97 : 0;
}
"""


def main_text(signature: Signature) -> str:
    """A program that runs any network."""
    allocate, store = [], []
    buffers = (*signature.inputs, *signature.outputs)
    names = ["net"]
    if signature.is_open:
        net = signature.name
        allocate.append(f"  {net}_sizes told, *sizes = &told;\n  get(file, sizes, sizeof told);")
        names.append("sizes")
    if INFER_SHAPES in signature.functions:
        allocate.append(f"  {net}_shapes inferred, *shapes = &inferred;")
        allocate.append(f"  if ({net}_infer_shapes(sizes, shapes)) return 98;")
    for one in signature.inputs:
        allocate += [_buffer(signature, one), f"  get(file, {one.name}, {one.name}_bytes);"]
    for one in signature.outputs:
        allocate.append(_buffer(signature, one))
        if one.binding.dynamic:
            row = f"sizeof {one.name}->row[0]"
            store += [f"  put(file, {one.name}, 8);"]
            store += [f"  put(file, {one.name}->row, {row} * (size_t){one.name}->rows);"]
        else:
            store.append(f"  put(file, {one.name}, {one.name}_bytes);")
    names += [one.name for one in signature.inputs]
    names += [one.name for one in signature.outputs]
    return _MAIN % {
        "net": signature.name,
        "NET": signature.upper,
        "allocate": "\n".join(allocate),
        "arguments": ", ".join(names),
        "store": "\n".join(store),
        "free": "\n".join(f"  free({one.name});" for one in buffers),
    }


def _buffer(signature: Signature, one: Argument) -> str:
    """The memory of an input or output."""
    if one.binding.dynamic:
        kind = f"{signature.name}_{one.name}"
        return f"  {kind} *{one.name} = some(sizeof *{one.name});"
    elements = f"{signature.upper}_{one.name.upper()}_ELEMENTS"
    if one.binding.is_open:
        elements += "(sizes)" if one.binding in signature.artifact.inputs else "(shapes)"
    size = f"  size_t {one.name}_bytes = {elements} * sizeof({one.type});"
    return f"{size}\n  {one.type} *{one.name} = some({one.name}_bytes);"


def inputs_of(signature: Signature, feeds: Arrays) -> bytes:
    """Open extents and arrays, as the program reads them."""
    names = [one.binding.name for one in signature.inputs]
    told = [feeds[names[one.input]].shape[one.axis] for one in signature.open_extents]
    arrays = [feeds[name].tobytes() for name in names]
    return np.array(told, np.int64).tobytes() + b"".join(arrays)


def outputs_of(signature: Signature, results: Arrays) -> bytes:
    """What the program writes if these are the results."""
    parts = []
    for one in signature.outputs:
        result = results[one.binding.name]
        if one.binding.dynamic:
            parts.append(np.int64(len(result)).tobytes())
        parts.append(result.tobytes())
    return b"".join(parts)


def arrays_of(signature: Signature, written: bytes) -> Arrays:
    """The results that the program has written."""
    file, results = io.BytesIO(written), dict[str, np.ndarray[Any, Any]]()
    for one in signature.outputs:
        shape = one.binding.shape
        if one.binding.dynamic:
            shape = int.from_bytes(file.read(8), "little"), *shape[1:]
        kind = np.dtype(one.binding.dtype)
        found = np.frombuffer(file.read(prod(shape) * kind.itemsize), kind)
        results[one.binding.name] = found.reshape(shape)
    assert not file.read()
    return results


def run(command: Sequence[object], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; its output is text."""
    words = list(map(str, command))
    return subprocess.run(words, capture_output=True, text=True, timeout=600, **options)


def done(command: Sequence[object], **options: Any) -> str:
    """Run a command that must succeed; its output."""
    ended = run(command, **options)
    assert ended.returncode == 0, f"{command}: {ended.returncode}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


@dataclass
class Library:
    """A library in a folder, for programs in the same folder."""

    artifact: Artifact
    folder: Path
    name: str = "net"
    embedded: bool = True
    toolchain: Toolchain = NATIVE
    signature: Signature = field(init=False)
    runners: dict[str, Path] = field(init=False, default_factory=dict)
    """The program that runs the network, by how it is linked."""

    def __post_init__(self) -> None:
        self.signature = Signature(self.name, self.artifact)
        write_library(self.artifact, self.folder, self.name, VERSION, self.embedded)

    @property
    def weights(self) -> Path:
        """The file of weights, if they are not in the library."""
        return self.folder / f"{self.name}.weights"

    def program(self, source: str, kind: str = STATIC, *options: object) -> Path:
        """The program of a text, linked with the library."""
        return program([self], source, kind, *options)

    def run(self, feeds: Arrays, threads: int = 1, kind: str = STATIC, runs: int = 1) -> bytes:
        """What the program that runs any network writes."""
        ended = self.ended(feeds, threads, kind, runs)
        assert ended.returncode == 0, f"{ended.returncode}\n{ended.stdout}{ended.stderr}"
        return (self.folder / "outputs").read_bytes()

    def ended(
        self, feeds: Arrays, threads: int, kind: str = STATIC, runs: int = 1
    ) -> subprocess.CompletedProcess[str]:
        """The same with any exit code."""
        (self.folder / "inputs").write_bytes(inputs_of(self.signature, feeds))
        if kind not in self.runners:
            text = main_text(self.signature)
            self.runners[kind] = program([self], text, kind, name="run")
        files = [self.folder / "inputs", self.folder / "outputs"]
        weights = [] if self.embedded else [self.weights]
        return run([*self.toolchain.runner, self.runners[kind], threads, runs, *files, *weights])


def program(
    libraries: Sequence[Library], source: str, kind: str, *options: object, name: str = "main"
) -> Path:
    """A program, linked with libraries, in the folder of the first one."""
    folder = libraries[0].folder
    text, made = folder / f"{name}.c", folder / f"{name}-{kind}"
    text.write_text(source)
    linked: list[object] = []
    for library in libraries:
        linked.append(f"-I{library.folder}")
        if kind == STATIC:
            linked.append(library.folder / f"lib{library.name}.a")
        else:
            linked += [f"-L{library.folder}", f"-l{library.name}", f"-Wl,-rpath,{library.folder}"]
    done(
        [
            libraries[0].toolchain.cc,
            "-O1",
            "-g",
            *WARNINGS,
            text,
            "-o",
            made,
            "-pthread",
            *options,
            *linked,
        ]
    )
    return made


_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_DECLARED: dict[str, tuple[Any, ...]] = {
    "supported": (_INT,),
    "create": (_POINTER, _POINTER, _INT),
    "destroy": (None, _POINTER),
    "check": (_INT, _POINTER, _INT),
    "bytes": (ctypes.c_size_t, _INT),
    "infer_shapes": (_INT, _POINTER, _POINTER),
    "init": (_POINTER, _POINTER, _POINTER, _INT),
    "work": (_INT, _POINTER, _INT),
    "quit": (None, _POINTER),
}
"""What each function returns and takes, as headers declare it; `run` is another one in each."""

_OF_OPEN_SIZES: dict[str, tuple[Any, ...]] = {
    "bytes": (ctypes.c_size_t, _INT, _POINTER),
    "init": (_POINTER, _POINTER, ctypes.c_size_t, _POINTER, _INT),
}
"""Other ones, where a call tells sizes."""


class Loaded:
    """A library's shared object in this process, whose functions are called by their short names:
    `loaded.call("check", None, 1)`. Addresses are numbers; for `run`, so are all arguments but
    those of a type of ctypes.
    """

    def __init__(self, folder: Path, name: str = "net") -> None:
        self._library = ctypes.CDLL(str(folder / f"lib{name}.so"))
        text = ctypes.c_char.in_dll(self._library, f"{name}_info")
        self.info: dict[str, Any] = json.loads(ctypes.string_at(ctypes.addressof(text)))
        self._name = name

    def call(self, function: str, *arguments: Any) -> Any:
        """Call a function."""
        found = self._library[f"{self._name}_{function}{self.info['suffix']}"]
        if function == "run":
            found.restype = _INT
            return found(*(_POINTER(a) if isinstance(a, int) else a for a in arguments))
        declared = _DECLARED | (_OF_OPEN_SIZES if self.info["sizes"] else {})
        found.restype, *found.argtypes = declared[function]
        return found(*arguments)
