"""The header of a library: what a program in C includes.

The names of functions end in a digest of all that the header says. A program that was compiled with
another header finds no function to link with, where it would pass wrong buffers otherwise.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from string import Template

from ncc.compiler.library.layout import HEAD_BYTES, Layout
from ncc.compiler.library.signature import INFER_SHAPES, Argument, Signature
from ncc.runtime.artifact import ALIGNMENT, DYNAMIC_HEADER, as_bytes

_DIGITS = 8
"""Hexadecimal digits of the digest."""

_WIDTH = 96
_COMMENT = re.compile(r"^/\* (.*?) \*/$", re.MULTILINE | re.DOTALL)
"""A comment on lines of its own."""

_DECLARATIONS = """$sizes
#define ${NET}_MOST_THREADS $most_threads
#define ${NET}_WEIGHTS_BYTES $weights_bytes /* of a file of weights */
${bytes_macro}#define ${NET}_ALIGNMENT $alignment /* of memory and weights */

/* A network that can run: its memory and its threads, for one run at a time. Several of them share
   code and weights, and run at once. A process makes its own ones after a fork. */
typedef struct $net $net;
$structs
/* Whether this processor has the instructions of the code, and the system allows them: 1 or 0. */
int ${net}_supported(void);

/* A network on so many threads, one of which is the caller of ${net}_run.
   weights: $weights_are NULL if the processor is not supported, if ${net}_check finds an
   error, or if the system has no memory or no thread. */
$net *${net}_create(const void *weights, int threads);

/* Ends the threads and gives back the memory. No run may be under way. */
void ${net}_destroy($net *net);

${infer_function}/* One run. $allocates Inputs and outputs are the caller's; no two of them overlap.
   0, or EBUSY while another run of the same network is under way. */
int ${net}_run($run);

/* 0, ERANGE for a number of threads that is not 1 to ${NET}_MOST_THREADS, or EINVAL for weights
   that this code cannot read. (errno is not set.) */
int ${net}_check(const void *weights, int threads);

$bytes_function
/* The same without the C library: a network in memory of the caller's, of $bytes_wanted
   bytes and aligned. NULL if the memory is not aligned, or if ${net}_check finds an error. Ask
   ${net}_supported first$tiles. */
$net *${net}_init(void *memory, ${bytes_argument}const void *weights, int threads);

/* The work of thread 1, 2, ... of ${net}_init, which are the caller's: it returns after
   ${net}_quit, or at once with EINVAL for any other number. Free the memory when all of them have
   returned. A thread that does not come makes runs slower, not wrong. */
int ${net}_work($net *net, int thread);
void ${net}_quit($net *net);

/* Inputs, outputs and target, as JSON. "suffix" is what the names of functions end in, for programs
   that look for them in a shared object. */
extern const char ${net}_info[];
"""

_BYTES_MACRO = """#define ${NET}_BYTES(threads) ($thread_bytes * (size_t)(threads) + $bytes)
"""

_BYTES = """/* ${NET}_BYTES(threads), or 0 for a wrong number of threads. */
size_t ${net}_bytes(int threads);
"""

_BYTES_OF_SIZES = """\
/* The bytes that ${net}_init needs for runs with these sizes, and without sizes (NULL) for none;
   0 for a wrong number of threads, or for sizes that the code is not for. */
size_t ${net}_bytes(int threads, const ${net}_sizes *sizes);
"""

_INFER = """\
/* The shapes of outputs for these sizes: 0, or ERANGE for sizes that the code is not for. */
int ${net}_infer_shapes(const ${net}_sizes *sizes, ${net}_shapes *shapes);

"""

_RUNS_OPEN = (
    "It allocates nothing, but for a larger arena if sizes need one: then it returns ENOMEM where "
    "the system has no memory, or a network of ${net}_init has not enough. Sizes that the code is "
    "not for are ERANGE."
)

_HEADER = """/* $title */
#ifndef ${NET}_H
#define ${NET}_H

#include <stddef.h>
#include <stdint.h>

/* A library that was compiled from another network, or in another way, has other names. */
$defines

#ifdef __cplusplus
extern "C" {
#endif

$declarations
#ifdef __cplusplus
}
#endif
#endif
"""


def _wrapped(comment: re.Match[str]) -> str:
    """A comment whose lines are filled."""
    words = f"/* {' '.join(comment[1].split())}\u00a0*/"  # no line begins with its end
    filled = textwrap.fill(words, _WIDTH, subsequent_indent="   ", break_long_words=False)
    return filled.replace("\u00a0", " ")


@dataclass(frozen=True)
class Header:
    """The header of a network. embedded: whether the library has weights. title: a line on top."""

    signature: Signature
    embedded: bool
    title: str

    @property
    def declarations(self) -> str:
        """What programs rely on."""
        signature, artifact = self.signature, self.signature.artifact
        layout, net = Layout(artifact), signature.name
        own = f"{net.upper()}_WEIGHTS_BYTES bytes, as {net}.weights has them, aligned, and kept"
        given = "NULL for those of the library, or" if self.embedded else "they are"
        needs_tiles = "amx_tile" in artifact.features
        is_open = signature.is_open
        names = {"NET": signature.upper, "net": net}
        sizes = {
            "bytes": layout.size(0),
            "thread_bytes": layout.size(1) - layout.size(0),
        }
        parts = {
            "bytes_macro": "" if is_open else _BYTES_MACRO,
            "bytes_function": _BYTES_OF_SIZES if is_open else _BYTES,
            "bytes_wanted": "so many" if is_open else "${NET}_BYTES(threads)",
            "bytes_argument": "size_t bytes, " if is_open else "",
            "infer_function": _INFER if INFER_SHAPES in signature.functions else "",
            "allocates": _RUNS_OPEN if is_open else "It allocates nothing.",
        }
        text = Template(_DECLARATIONS).substitute(
            {name: Template(part).substitute(names, **sizes) for name, part in parts.items()},
            **names,
            sizes="\n".join(self._sizes()),
            most_threads=artifact.threads,
            weights_bytes=HEAD_BYTES + len(as_bytes(artifact.weights)),
            alignment=ALIGNMENT,
            structs="\n".join(["", *self._size_structs(), *self._structs()]),
            weights_are=f"{given} {own} by the caller as long as the network.",
            run=", ".join(self._run()),
            tiles=": it also asks the system to allow matrix tiles" if needs_tiles else "",
        )
        return _COMMENT.sub(_wrapped, text)

    @property
    def suffix(self) -> str:
        """What the names of functions end in."""
        return "_" + sha256(self.declarations.encode()).hexdigest()[:_DIGITS]

    @property
    def symbols(self) -> Mapping[str, str]:
        """The names of functions in objects."""
        return {
            one: f"{self.signature.name}_{one}{self.suffix}" for one in self.signature.functions
        }

    @property
    def text(self) -> str:
        """The file."""
        net = self.signature.name
        defines = (f"#define {net}_{one} {symbol}" for one, symbol in self.symbols.items())
        return Template(_HEADER).substitute(
            title=self.title.replace("*/", "* /"),
            NET=self.signature.upper,
            defines="\n".join(defines),
            declarations=self.declarations,
        )

    def _sizes(self) -> Iterator[str]:
        """The number of elements of each input and output."""
        signature = self.signature
        for one in (*signature.inputs, *signature.outputs):
            told = ""
            if one.binding.is_open:
                told = "(sizes)" if one.binding in signature.artifact.inputs else "(shapes)"
            name = f"{signature.upper}_{one.name.upper()}_ELEMENTS"
            yield f"#define {name}{told} {one.elements} /* {one.binding.extents} */"

    def _size_structs(self) -> Iterator[str]:
        """The types of what a call tells, and of what follows from it."""
        signature, net = self.signature, self.signature.name
        if signature.is_open:
            yield "\n/* The extents that a call tells, and what each may be. */"
            yield "typedef struct {"
            for one in signature.open_extents:
                yield f"  int64_t {one.name}; /* {one.least} to {one.most} */"
            yield f"}} {net}_sizes;\n"
        if INFER_SHAPES in signature.functions:
            yield "\n/* The shapes of outputs that follow from them. */"
            yield "typedef struct {"
            for output in signature.outputs:
                if output.binding.is_open:
                    yield f"  int64_t {output.name}[{len(output.binding.shape)}];"
            yield f"}} {net}_shapes;\n"

    def _structs(self) -> Iterator[str]:
        """The types of outputs with as many rows as a run finds."""
        for one in self.signature.outputs:
            if one.binding.dynamic:
                extents = "".join(f"[{extent}]" for extent in one.binding.shape)
                yield f"/* The first `rows` rows of {one.name} are what a run has found. */"
                yield (
                    f"typedef struct {{ int64_t rows, unused[{DYNAMIC_HEADER // 8 - 1}]; "
                    f"{one.type} row{extents}; }} {self._struct(one)};"
                )

    def _struct(self, output: Argument) -> str:
        return f"{self.signature.name}_{output.name}"

    def _run(self) -> Iterator[str]:
        """The arguments of a run."""
        yield f"{self.signature.name} *net"
        if self.signature.is_open:
            yield f"const {self.signature.name}_sizes *sizes"
        yield from (f"const {one.type} *{one.name}" for one in self.signature.inputs)
        for one in self.signature.outputs:
            yield f"{self._struct(one) if one.binding.dynamic else one.type} *{one.name}"
