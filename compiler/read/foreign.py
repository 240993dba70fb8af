"""A file that is no .param, but something else that is known: what it is, and the way from it."""

from __future__ import annotations

import os
import re

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.param_bin import is_binary
from ncc.compiler.read.records import Source
from ncc.runtime.zip_headers import MAGIC as ZIP

MANIFEST = b"manifest.json"
"""The name of the first entry of a compiled model, which stands in the header at its start."""

_HEAD = 100

_TEXT = re.compile(rb"\s*7767517\s")
_PNNX = re.compile(rb"\s*7767517\s+\d+\s+\d+\s+pnnx\.")


def foreign(path: str, data: bytes) -> ModelError | None:
    """The error about a file of another kind; None for what may be a .param, text or binary."""
    found = _kind(os.path.basename(path), data)
    if found is None:
        return None
    what, how = found
    return Source(path).error(f"this is {what}; here ncnn's .param is wanted", how=how)


def _kind(name: str, data: bytes) -> tuple[str, str] | None:
    """What the file is, and what to do with it."""
    if data.startswith(ZIP) and MANIFEST in data[:_HEAD]:
        return "a compiled model", "`ncc run`, `ncc show` and ncc.load read it"
    if data.startswith(ZIP):
        return (
            "a zip archive, as PyTorch writes them",
            f"pnnx converts TorchScript: pip install pnnx; pnnx {name} inputshape=[1,3,224,224]",
        )
    if name.endswith(".onnx"):
        return "an ONNX model", f"pnnx converts it: pip install pnnx; pnnx {name}"
    if _PNNX.match(data):
        ncnn = name.replace(".pnnx.", ".ncnn.")
        return "a network in pnnx's own layers", f"ncnn's, {ncnn}, was written beside it"
    if name.endswith(".bin") and not is_binary(data) and not _TEXT.match(data):
        return "a file of weights, by its name", "give the .param first, then its .bin"
    return None
