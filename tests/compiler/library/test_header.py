"""The header that a program includes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ncc.compiler.library.header import Header
from ncc.compiler.library.signature import FUNCTIONS, Signature
from ncc.runtime.artifact import Artifact, Binding
from tests.c_programs import CC, CXX, WARNINGS, Library, done, needs_cc
from tests.compiler.library.small_networks import KINDS, Compiled, compiled


def header(artifact: Artifact, embedded: bool = True, title: str = "A title.") -> Header:
    return Header(Signature("net", artifact), embedded, title)


def prototype(found: Header) -> str:
    """How a program calls the run."""
    (one,) = re.findall(r"^int net_run\((.*)\);", found.text, re.MULTILINE)
    return str(one)


def test_runs_have_typed_arguments() -> None:
    """Sizes, inputs, outputs: in the order of the file, under their names."""
    assert (
        prototype(header(compiled("plain").artifact)) == "net *net, const float *data, float *prob"
    )
    assert prototype(header(compiled("names").artifact)) == (
        "net *net, const int32_t *tokens, const float *out_a, float *out_a_2"
    )
    assert prototype(header(compiled("no weights").artifact)) == (
        "net *net, const float *float_, float *run_2"
    )
    assert prototype(header(compiled("rows").artifact)).endswith(", net_rows *rows")
    caches = prototype(header(compiled("caches").artifact))
    assert caches.startswith("net *net, const net_sizes *sizes, const float *in0, ")
    assert ", const float *cache_v1, float *out_cache_k0, " in caches


def test_an_output_of_found_rows_is_a_struct() -> None:
    """Its head is what the code writes in front of the rows."""
    artifact = compiled("rows").artifact
    (most, columns) = artifact.outputs[0].shape
    struct = (
        f"typedef struct {{ int64_t rows, unused[7]; float row[{most}][{columns}]; }} net_rows;"
    )
    assert struct in header(artifact).text


def test_names_change_with_what_is_promised(plain: Compiled) -> None:
    """Other sizes have other names; another title has not."""
    first = header(plain.artifact)
    model = plain.artifact
    (output,) = model.outputs
    assert first.suffix == header(model, title="Another */ title.").suffix
    others = [
        replace(model, outputs=(replace(output, shape=(11,)),)),
        replace(model, outputs=(Binding("prob", output.shape, "float16"),)),
        replace(model, outputs=(Binding("other", output.shape),)),
        replace(model, arena_bytes=model.arena_bytes + 64),
        replace(model, threads=3),
        replace(model, weights=bytes(model.weights) + bytes(64)),
    ]
    suffixes = {header(other).suffix for other in others} | {header(model, False).suffix}
    assert len(suffixes | {first.suffix}) == 8
    assert all(re.fullmatch("_[0-9a-f]{8}", suffix) for suffix in suffixes)


def test_every_function_is_declared_and_renamed(plain: Compiled) -> None:
    """No function is forgotten in one of the two places."""
    text = header(plain.artifact).text
    for one in FUNCTIONS:
        assert len(re.findall(rf"^(?:int|void|size_t|net) \*?net_{one}\(", text, re.MULTILINE)) == 1
        assert re.search(rf"^#define net_{one} net_{one}_[0-9a-f]{{8}}$", text, re.MULTILINE)


def test_lines_are_short(plain: Compiled) -> None:
    """Comments are filled, however long the names are."""
    long = Header(Signature("a_rather_long_name_of_a_network", plain.artifact), False, "A title.")
    comments = re.findall(r"^/\*.*?\*/$", long.text, re.MULTILINE | re.DOTALL)
    assert len(comments) > 10
    assert max(len(line) for text in comments for line in text.splitlines()) <= 100


@needs_cc
@pytest.mark.skipif(CXX is None, reason="there is no C++ compiler (c++)")
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_headers_are_valid(kind: str, tmp_path: Path) -> None:
    """As C of 1999 and C++ of 2011, included twice, with all warnings."""
    Library(compiled(kind).artifact, tmp_path)
    for compiler, standard, name in (
        (CC, "c99", "net.h"),
        (CXX, "c++11", "net.h"),
        (CXX, "c++11", "net.hpp"),
    ):
        source = tmp_path / ("main.c" if compiler is CC else "main.cc")
        source.write_text(f'#include "{name}"\n#include "{name}"\n')
        assert compiler is not None
        done([compiler, f"-std={standard}", *WARNINGS, "-fsyntax-only", source])
