"""LLVM: the functions of llvmlite's library that make machine code.

`llvmlite.binding` prepares all six hundred functions, and imports a builder of IR. That takes as
long as LLVM needs for ten kernels. A function does not hold the interpreter's lock while it works.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL, POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_void_p, string_at
from mmap import MADV_DONTNEED
from os import RTLD_NOW
from pathlib import Path
from typing import Any, NewType

from ncc.runtime.errors import NccError

Machine = NewType("Machine", int)
"""A code generator for one kind of CPU."""

Module = NewType("Module", int)
"""IR in LLVM's memory."""

_MESSAGE = POINTER(c_char_p)

# The result of each function, and its arguments.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "InitializeNativeAsmParser": (None,),
    "InitializeAllTargetInfos": (None,),
    "InitializeAllTargets": (None,),
    "InitializeAllTargetMCs": (None,),
    "InitializeAllAsmPrinters": (None,),
    "SetCommandLine": (None, c_char_p, c_char_p),
    "GetTargetFromTriple": (c_void_p, c_char_p, _MESSAGE),
    "CreateTargetMachine": (
        *(c_void_p, c_void_p, c_char_p, c_char_p, c_char_p, c_int),
        *(c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "CreateTargetMachineData": (c_void_p, c_void_p),
    "CopyStringRepOfTargetData": (None, c_void_p, _MESSAGE),
    "DisposeTargetData": (None, c_void_p),
    "ContextCreate": (c_void_p,),
    "ContextDispose": (None, c_void_p),
    "ParseAssembly": (c_void_p, c_void_p, c_char_p, _MESSAGE),
    "DisposeModule": (None, c_void_p),
    "VerifyModule": (c_bool, c_void_p, _MESSAGE),
    "SetTarget": (None, c_void_p, c_char_p),
    "SetDataLayout": (None, c_void_p, c_char_p),
    "CreatePipelineTuningOptions": (c_void_p,),
    "DisposePipelineTuningOptions": (None, c_void_p),
    "CreatePassBuilder": (c_void_p, c_void_p, c_void_p),
    "DisposePassBuilder": (None, c_void_p),
    "CreateNewModulePassManager": (c_void_p,),
    "module_AddAlwaysInlinerPass": (None, c_void_p),
    "RunNewModulePassManager": (None, c_void_p, c_void_p, c_void_p),
    "DisposeNewModulePassManger": (None, c_void_p),
    "TargetMachineEmitToMemory": (c_void_p, c_void_p, c_void_p, c_int, _MESSAGE),
    "GetBufferStart": (c_void_p, c_void_p),
    "GetBufferSize": (c_size_t, c_void_p),
    "DisposeMemoryBuffer": (None, c_void_p),
    "DisposeString": (None, c_char_p),
}

HOST = os.uname().machine
"""The processor that LLVM runs on, as in triples."""

MAPS = Path("/proc/self/maps")
"""The layout of objects in the memory of this process."""


class Refused(Exception):
    """The message of LLVM about a text that it rejects."""


class LlvmLibrary:
    """The loaded library. Only one thread at a time may call it."""

    def __init__(self, *choices: str, maps: Path = MAPS) -> None:
        """choices: arguments of LLVM's command line. maps: a file that lists mapped memory."""
        import llvmlite
        from llvmlite.utils import get_library_name

        path = str(Path(llvmlite.__file__).parent / "binding" / get_library_name())
        # `CDLL` keeps the interpreter's lock while it loads; a call does not.
        CDLL(None).dlopen(path.encode(), RTLD_NOW)
        try:
            library = CDLL(path)
        except OSError as error:
            if "failed to map segment" not in str(error):
                raise
            raise NccError(
                f"there is not enough memory for LLVM: let this process have more, or compile "
                f"elsewhere; what is compiled needs none of it ({error})"
            ) from error
        self._call: dict[str, Any] = {}
        for name, (returned, *taken) in _FUNCTIONS.items():
            function = self._call[name] = getattr(library, f"LLVMPY_{name}")
            function.restype, function.argtypes = returned, taken
        for what in ("Target", "AsmPrinter", "AsmParser"):
            self._call[f"InitializeNative{what}"]()
        for choice in choices:
            self._call["SetCommandLine"](b"ncc", choice.encode())
        self._knows_all = False
        self._code, self._madvise = list(_code_of(path, maps)), CDLL(None).madvise
        self.unmap_code()

    def unmap_code(self) -> None:
        """Drop the code of the library from memory; the system maps what is called again.

        Initializers of all parts of LLVM are spread over its code: 24 MB are in memory when it is
        loaded, and 36 MB when it has compiled a network.
        """
        for begin, size in self._code:
            self._madvise(c_void_p(begin), c_size_t(size), MADV_DONTNEED)

    def machine(self, triple: str, cpu: str, features: str, effort: int) -> Machine:
        """A code generator, which lives as long as the process. effort: from 0 to 3."""
        if not triple.startswith(f"{HOST}-"):
            self._initialize_all()
        with self._message() as message:
            target = self._call["GetTargetFromTriple"](triple.encode(), byref(message))
            if target is None:
                raise Refused(_text(message))
        names = triple.encode(), cpu.encode(), features.encode()
        machine = self._call["CreateTargetMachine"](
            target, *names, effort, b"pic", b"small", 0, 0, b""
        )
        if machine is None:
            raise Refused(f"there is no code generator for {cpu}")
        return Machine(machine)

    def _initialize_all(self) -> None:
        """Load the code generators of all processors, which take 10 MB of memory."""
        if not self._knows_all:
            for what in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
                self._call[f"InitializeAll{what}"]()
            self._knows_all = True

    def data_layout(self, machine: Machine) -> str:
        """The data layout of a target, as text."""
        data = self._call["CreateTargetMachineData"](machine)
        try:
            with self._message() as message:
                self._call["CopyStringRepOfTargetData"](data, byref(message))
                return _text(message)
        finally:
            self._call["DisposeTargetData"](data)

    @contextmanager
    def module(self, text: str, triple: str, layout: str) -> Iterator[Module]:
        """The text as a verified module, in a `with` block.

        Raises Refused for a text that LLVM cannot parse or verify.
        """
        call = self._call
        context = call["ContextCreate"]()
        try:
            with self._message() as message:
                module = call["ParseAssembly"](context, text.encode(), byref(message))
                if module is None:
                    raise Refused(_text(message))
            try:
                with self._message() as message:
                    if call["VerifyModule"](module, byref(message)):
                        raise Refused(_text(message))
                call["SetTarget"](module, triple.encode())
                call["SetDataLayout"](module, layout.encode())
                yield Module(module)
            finally:
                call["DisposeModule"](module)
        finally:
            call["ContextDispose"](context)

    def inline(self, module: Module, machine: Machine) -> None:
        """Inline the functions with the attribute `alwaysinline`."""
        call = self._call
        passes = call["CreateNewModulePassManager"]()
        options = call["CreatePipelineTuningOptions"]()
        builder = call["CreatePassBuilder"](machine, options)
        call["module_AddAlwaysInlinerPass"](passes)
        call["RunNewModulePassManager"](passes, module, builder)
        call["DisposePassBuilder"](builder)
        call["DisposePipelineTuningOptions"](options)
        call["DisposeNewModulePassManger"](passes)

    def code(self, module: Module, machine: Machine, as_object: bool = True) -> bytes:
        """An object, or else assembly."""
        call = self._call
        with self._message() as message:
            made = call["TargetMachineEmitToMemory"](machine, module, as_object, byref(message))
            if made is None:
                raise Refused(_text(message))
        try:
            return string_at(call["GetBufferStart"](made), call["GetBufferSize"](made))
        finally:
            call["DisposeMemoryBuffer"](made)

    @contextmanager
    def _message(self) -> Iterator[c_char_p]:
        """A pointer for a text that LLVM allocates, in a `with` block."""
        message = c_char_p()
        try:
            yield message
        finally:
            self._call["DisposeString"](message)


def _text(message: c_char_p) -> str:
    return (message.value or b"").decode(errors="replace")


def _code_of(library: str, maps: Path) -> Iterator[tuple[int, int]]:
    """The addresses and sizes of the code of a loaded library; none without /proc."""
    for line in maps.read_text().splitlines() if maps.exists() else ():
        bounds, rights, _ = line.split(maxsplit=2)
        if "x" in rights and line.endswith(library):
            begin, end = (int(bound, 16) for bound in bounds.split("-"))
            yield begin, end - begin
