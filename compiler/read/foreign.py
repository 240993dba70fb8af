"""A file that is no .param, or no .bin, but something else that is known: what it is, and the way
from it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.param_bin import is_binary
from ncc.compiler.read.records import Source
from ncc.runtime.zip_headers import MAGIC as ZIP

MANIFEST = b"manifest.json"
"""The name of the first entry of a compiled model, which stands in the header at its start."""

NUMPY = b"\x93NUMPY"
"""How a .npy file begins."""

WRAPPED = {
    b"\x1f\x8b": ("a file that gzip has compressed", "gunzip it"),
    b"version https://git-lfs": ("what Git LFS left in place of the file", "git lfs pull"),
    b"<!DOCTYPE": ("a web page", "download the file itself"),
    b"<html": ("a web page", "download the file itself"),
}
"""How a file begins that may be ncnn's inside, what it is, and the way to that."""

ENCODED = {
    b"\xff\xfe": ("text in UTF-16", "save it as UTF-8"),
    b"\xfe\xff": ("text in UTF-16", "save it as UTF-8"),
    b"\xef\xbb\xbf": ("text with a byte-order mark in front", "save it as UTF-8 without one"),
}
"""The same for a text that an editor has saved as ncnn does not read it."""

HEAD = 100
"""Bytes by which files are told apart."""

_TEXT = re.compile(rb"\s*7767517\s")
_PNNX = re.compile(rb"\s*7767517\s+\d+\s+\d+\s+pnnx\.")


def foreign(path: str, data: bytes) -> ModelError | None:
    """The error about a file of another kind; None for what may be a .param, text or binary."""
    name = os.path.basename(path)
    found = _kind(name, data) or _begun(ENCODED, data)
    if found is None and name.endswith(".bin") and not is_param(data):
        found = "a file of weights, by its name", "give the .param first, then its .bin"
    return _error(path, found, ".param")


def foreign_weights(path: str, head: bytes) -> ModelError | None:
    """The same for what may be a .bin, of which `head` are the first bytes, up to HEAD."""
    name = os.path.basename(path)
    found = _kind(name, head)
    if found is None and is_param(head):
        found = "a .param", "give the .param first, then its .bin"
    if found is None and head.startswith(NUMPY):
        found = "an array, as numpy.save writes them", f"inputs have names: --input data=@{name}"
    return _error(path, found, ".bin")


def is_param(head: bytes) -> bool:
    """Whether a file begins as a .param does, text or binary."""
    return is_binary(head) or _TEXT.match(head) is not None


def _error(path: str, found: tuple[str, str] | None, wanted: str) -> ModelError | None:
    if found is None:
        return None
    what, how = found
    return Source(path).error(f"this is {what}; here ncnn's {wanted} is wanted", how=how)


def _kind(name: str, data: bytes) -> tuple[str, str] | None:
    """What the file is, and what to do with it."""
    if data.startswith(ZIP) and name.endswith(".pnnx.bin"):
        ncnn = name.replace(".pnnx.", ".ncnn.")
        return "the weights of a network in pnnx's own layers", f"{ncnn} was written beside it"
    if data.startswith(ZIP) and MANIFEST in data[:HEAD]:
        return "a compiled model", "`ncc run`, `ncc show` and ncc.load read it"
    if data.startswith(ZIP):
        return (
            "a zip archive, as PyTorch writes them",
            f"pnnx converts TorchScript: pip install pnnx; "
            f"pnnx {name} fp16=0 inputshape=[1,3,224,224]",
        )
    if name.endswith(".onnx"):
        return "an ONNX model", f"pnnx converts it: pip install pnnx; pnnx {name} fp16=0"
    if _PNNX.match(data):
        ncnn = name.replace(".pnnx.", ".ncnn.")
        return "a network in pnnx's own layers", f"ncnn's, {ncnn}, was written beside it"
    return _begun(WRAPPED, data)


def _begun(known: Mapping[bytes, tuple[str, str]], data: bytes) -> tuple[str, str] | None:
    """What is known of files that begin so."""
    return next((told for begin, told in known.items() if data.startswith(begin)), None)
