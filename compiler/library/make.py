"""A compiled network as a library for C: libraries, headers, and what finds them.

    lib<net>.a        network.o (code, weights and the functions that need no C library),
                      processor.o, host.o
    lib<net>.so       the same in one shared object
    <net>.h, <net>.hpp, <net>Config.cmake
    <net>.weights     the weights, if they are not in the libraries

The code is that of the `.ncc`: nothing of it is compiled again, and results have the same bits.
Functions of the header are made by LLVM for the fewest instructions, because they decide whether
the processor has more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.library import elf, host, processor
from ncc.compiler.library.api import WEIGHTS_SYMBOL, api_text
from ncc.compiler.library.ar import archive
from ncc.compiler.library.arena import arena_text
from ncc.compiler.library.beside import cmake_config, cpp_header, info_text
from ncc.compiler.library.elf import Pieces, Section, Unit
from ncc.compiler.library.header import Header
from ncc.compiler.library.layout import HEAD_BYTES, head_page
from ncc.compiler.library.machine import MACHINES, Machine
from ncc.compiler.library.shared import shared_object
from ncc.compiler.library.signature import Signature
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.target import Target
from ncc.runtime.artifact import Artifact, as_bytes
from ncc.runtime.draft import draft_of
from ncc.runtime.elf import ALLOC, OBJECT
from ncc.runtime.errors import ArtifactError, InputError

MOST_EMBEDDED = 1 << 30
"""Bytes of weights in a library: code reaches 2 GB, over the weights of other libraries as well."""


def write_library(
    artifact: Artifact, folder: Path, name: str, version: str, embedded: bool = True
) -> list[Path]:
    """Write a library into a folder, which is made; the files that are written.

    name: an identifier of C. version: of ncc. embedded: whether the weights are in the library.
    All files are written under other names first, and renamed at the end.

    Raises InputError for weights that are too large to be embedded, ArtifactError for objects that
    are broken, and OSError.
    """
    files = library_files(artifact, name, version, embedded)
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as drafts:
        for file, pieces in files.items():
            draft = drafts.enter_context(draft_of(folder / file))
            with open(draft, "xb") as stream:
                stream.writelines(pieces.buffers)
    return [folder / file for file in files]


def library_files(
    artifact: Artifact, name: str, version: str, embedded: bool
) -> Mapping[str, Pieces]:
    """The files of a library, by name."""
    weights = as_bytes(artifact.weights)
    if embedded and len(weights) > MOST_EMBEDDED:
        raise InputError(
            f"a library has at most {MOST_EMBEDDED:,} bytes of weights, and these are "
            f"{len(weights):,}: --weights=file writes them into a file of their own"
        )
    for binding in artifact.outputs:
        if binding.dynamic and binding.is_open:
            raise Unsupported(
                f"a library whose output {binding.name!r} is open and has rows that a run finds",
                how="give a number for each extent, like --shape data=3x224x224",
            )
    signature = Signature(name, artifact)
    model = artifact.info.get("model", name)
    title = f"{model}, compiled by ncc {version} for {artifact.target}."
    header = Header(signature, embedded, title)
    members = _members(artifact, header, info_text(signature, header.suffix, version))
    shown = frozenset({*header.symbols.values(), f"{name}_info"})
    objects = {
        f"{member}.o": (elf.write(unit), unit.defined)
        for member, units in members.items()
        for unit in [elf.merge(units, shown)]
    }
    whole = elf.merge((unit for units in members.values() for unit in units), shown)
    of_c = {*host.C_LIBRARY, *processor.C_LIBRARY[MACHINES[whole.machine].name]}
    if missing := set(whole.undefined) - of_c:
        raise ArtifactError(f"the code refers to {', '.join(sorted(missing))}, which it has not")
    files = {
        f"lib{name}.a": archive(objects),
        f"lib{name}.so": shared_object(whole, f"lib{name}.so"),
        f"{name}.h": _text(header.text),
        f"{name}.hpp": _text(cpp_header(signature)),
        f"{name}Config.cmake": _text(cmake_config(name)),
    }
    if not embedded:
        files[f"{name}.weights"] = _pieces([head_page(artifact), weights])
    return files


def _members(artifact: Artifact, header: Header, info: bytes) -> Mapping[str, list[Unit]]:
    """What each member of the static library is made of."""
    kernels, symbols = [elf.read(image) for image in artifact.objects], header.symbols
    machine = MACHINES[kernels[0].machine]
    api = api_text(header.signature, header.embedded, symbols)
    network = [_compiled(api, machine), *kernels]
    if artifact.sizes is not None:
        text = arena_text(len(artifact.sizes.buffers), Target.of(machine.baseline))
        network.append(_compiled(text, machine))
    told = Section(elf.RODATA, ALLOC, 8, [info + b"\0"])
    network.append(_data(kernels[0], told, f"{header.signature.name}_info"))
    if header.embedded:
        parts: list[elf.Buffer] = [head_page(artifact), as_bytes(artifact.weights)]
        section = Section(elf.WEIGHTS, ALLOC, HEAD_BYTES, parts)
        network.append(_data(kernels[0], section, WEIGHTS_SYMBOL))
    return {
        "network": network,
        "processor": [
            _compiled(processor.processor_text(machine, artifact.features, symbols), machine)
        ],
        "host": [_compiled(host.host_text(symbols, header.signature.is_open), machine)],
    }


def _compiled(text: str, machine: Machine) -> Unit:
    """LLVM text as code for every processor of a machine."""
    return elf.read(emit_object(text, Target.of(machine.baseline)))


def _data(like: Unit, section: Section, symbol: str) -> Unit:
    """A unit of constants with a name."""
    content = elf.Symbol(symbol, OBJECT, 0, 0, section.size)
    return Unit(like.machine, like.flags, [section], [content])


def _text(text: str) -> Pieces:
    return _pieces([text.encode(errors="replace")])


def _pieces(buffers: Iterable[elf.Buffer]) -> Pieces:
    pieces = Pieces()
    for buffer in buffers:
        pieces.add(buffer)
    return pieces
