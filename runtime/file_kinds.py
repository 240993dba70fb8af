"""Recognizes files of another kind by their first bytes and their name, and says how to convert
them.

    other_kind("net.pt", b"PK...", NCC)  ->  "a TorchScript model", "pnnx converts it: pip ..."

Readers use it before they report an error in a file of their own kind.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from zipfile import BadZipFile, ZipFile

from ncc.runtime.archive import MAGIC as ZIP
from ncc.runtime.memory_files import shown_path

PARAM, BIN, NCC, NPY, ONNX = ".param", ".bin", ".ncc", ".npy", ".onnx"
"""The kinds of files that ncc reads."""

HEAD = 256
"""The number of first bytes that tell files apart."""

MANIFEST = "manifest.json"
"""The first entry of a compiled model."""

_NAME_PLACE = 30
"""Where a zip archive has the name of its first entry."""


@dataclass(frozen=True)
class Kind:
    """Files of one kind. what: one of them, with its article. how: the way from it, where {name}
    stands for the name of the file. ways: other ways, by what is wanted.
    """

    what: str
    how: str
    ways: Mapping[str, str] = field(default_factory=dict)


GET_PNNX = "pip install pnnx (it brings torch, 5.6 GB; docs/use.md has a way without)"
"""How to have pnnx."""

_TO_ONNX = f"export the network to ONNX; pnnx converts that: {GET_PNNX}; pnnx net.onnx fp16=0"
_TRACE = (
    "load them into their module, write that by torch.jit.trace(module.eval(), x).save('net.pt'), "
    f"and pnnx converts it: {GET_PNNX}; pnnx net.pt fp16=0 inputshape=[1,3,224,224]"
)
_TO_ARRAY = "normalize it in Python, and numpy.save it as (channels, height, width)"
_AGAIN = "copy it, download it or make it again"
_PARAM_FIRST = "give the .param first, then its .bin"
_OF_A_PARAM = "`ncc compile net.param` makes one, of a .param and the .bin beside it"
_INPUT = "inputs have names: --input data=@{name}"

TEXT = Kind(
    "a .param",
    _PARAM_FIRST,
    {
        NCC: "`ncc compile {name}` or ncc.compile makes one of it",
        ONNX: "give the .onnx that it was converted from",
    },
)
WEIGHTS = Kind("a file of weights, by its name", _PARAM_FIRST, {NCC: _OF_A_PARAM})
COMPILED = Kind(
    "a compiled model",
    "`ncc run`, `ncc show` and ncc.load read it",
    {BIN: "`ncc run`, `ncc show` and ncc.load read it; -o {name} writes it"},
)
ARRAY = Kind("an array, as numpy.save writes them", _INPUT)
ARRAYS = Kind(
    "an archive of arrays, as numpy.savez makes them",
    "numpy.save one array of it; inputs have names: --input data=@x.npy",
    {NPY: "numpy.save one array of it"},
)
PICTURE = Kind("a picture", _TO_ARRAY)
TORCHSCRIPT = Kind(
    "a TorchScript model, as PyTorch writes them",
    f"pnnx converts it: {GET_PNNX}; pnnx {{name}} fp16=0 inputshape=[1,3,224,224]",
)
CHECKPOINT = Kind("a checkpoint of PyTorch, weights without a network", _TRACE)
ONNX_MODEL = Kind("an ONNX model", f"pnnx converts it: {GET_PNNX}; pnnx {{name}} fp16=0")
KERAS = Kind("a file of HDF5, as Keras writes them", _TO_ONNX)
TFLITE = Kind("a TensorFlow Lite model", _TO_ONNX)
CAFFE = Kind("a Caffe model", "caffe2ncnn, one of ncnn's tools, converts it")
PNNX = Kind("a network in pnnx's own layers", "ncnn's, {ncnn}, was written beside it")
PNNX_WEIGHTS = Kind("the weights of a network in pnnx's own layers", "{ncnn} was written beside it")
ARCHIVE = Kind("a zip archive", "unzip it")
CUT_OFF = Kind("a zip archive that is cut off", _AGAIN)
GZIP = Kind("a file that gzip has compressed", "gunzip it")
LFS = Kind("what Git LFS left in place of the file", "git lfs pull")
PAGE = Kind("a web page", "download the file itself")
UTF16 = Kind("text in UTF-16", "save it as UTF-8")
MARKED = Kind("text with a byte-order mark in front", "save it as UTF-8 without one")
EMPTY = Kind("an empty file", _AGAIN)

_BEGINNINGS = (
    (b"\x93NUMPY", ARRAY),
    (b"\x89PNG", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"GIF8", PICTURE),
    (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19", CHECKPOINT),  # as PyTorch wrote before 1.6
    (b"\x89HDF\r\n\x1a\n", KERAS),
    (b"\x1f\x8b\x08", GZIP),
    (b"version https://git-lfs", LFS),
    (b"<!DOCTYPE", PAGE),
    (b"<html", PAGE),
)
_ENCODINGS = ((b"\xff\xfe", UTF16), (b"\xfe\xff", UTF16), (b"\xef\xbb\xbf", MARKED))
"""Of texts alone: weights may begin so."""

_PATTERNS = (
    (rb"\s*7767517\s+\d+\s+\d+\s+pnnx\.", PNNX),
    (rb"\s*7767517\s", TEXT),
    (rb"\xdd\x85\x76\0", TEXT),  # 7767517 in a .param.bin
    (rb"(?s)....TFL3", TFLITE),
    (rb"(?s).{6}\0\0\{\"", CHECKPOINT),  # of safetensors: a length, then JSON
    (rb"(?s)BM....\0\0\0\0", PICTURE),
    # The version of the format, then who wrote it: in a message of protocol buffers.
    (rb"(?s)\x08[\x01-\x20]\x12[\x03-\x20][ -~]{3}", ONNX_MODEL),
)
_MESSAGE = re.compile(rb"\x08[\x01-\x20][\x12\x1a\x22\x28\x32\x3a\x42]")
"""The version of the format of ONNX, then another field: nothing that a .param begins with."""

_ENDINGS = (
    (".onnx", ONNX_MODEL),
    (".caffemodel", CAFFE),
    (".prototxt", CAFFE),
    (".bin", WEIGHTS),
)
_FITTING = {
    PARAM: (TEXT, EMPTY),
    BIN: (WEIGHTS, EMPTY),
    NCC: (COMPILED,),
    NPY: (ARRAY,),
    ONNX: (ONNX_MODEL,),
}
"""Kinds that the reader itself accepts or refuses: a .bin may be empty."""


def other_kind(path: str, head: bytes, wanted: str) -> tuple[str, str] | None:
    """What a file is that is not what is wanted, and how to go on; None where it may be that.

    head: its first bytes, HEAD of them where there are as many.
    """
    kind = _kind(path, head, wanted)
    if kind is None or kind in _FITTING[wanted]:
        return None
    name = os.path.basename(shown_path(path))
    way = kind.ways.get(wanted, kind.how)
    return kind.what, way.format(name=name, ncnn=name.replace(".pnnx.", ".ncnn."))


def is_compiled(path: str) -> bool:
    """Whether a file is a compiled model, whole or not."""
    if not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return _kind(path, file.read(HEAD), NCC) is COMPILED


def is_onnx(path: str | os.PathLike[str]) -> bool:
    """Whether a file is an ONNX model, by its name or its first bytes."""
    name = os.fspath(path)
    if name.endswith(ONNX) or not os.path.isfile(name):
        return name.endswith(ONNX)
    with open(name, "rb") as file:
        head = file.read(HEAD)
    return _kind(name, head, PARAM) is ONNX_MODEL or _MESSAGE.match(head) is not None


def _kind(path: str, head: bytes, wanted: str) -> Kind | None:
    """The kind of a file; None where it is not known."""
    if not head:
        return EMPTY
    if head.startswith(ZIP):
        return _zipped(path, head)
    begun = _BEGINNINGS + (_ENCODINGS if wanted == PARAM else ())
    for beginning, kind in begun:
        if head.startswith(beginning):
            return kind
    named = next((kind for ending, kind in _ENDINGS if path.endswith(ending)), None)
    return _matched(head) or named


def _matched(head: bytes) -> Kind | None:
    return next((kind for pattern, kind in _PATTERNS if re.match(pattern, head)), None)


def _zipped(path: str, head: bytes) -> Kind:
    """The kind of a zip archive, by the names of its entries."""
    if head.startswith(MANIFEST.encode(), _NAME_PLACE):
        return COMPILED
    if path.endswith(".pnnx.bin"):
        return PNNX_WEIGHTS
    names = _entries(path)
    if names is None:
        return COMPILED if path.endswith(NCC) else CUT_OFF
    if MANIFEST in names:
        return COMPILED
    if names and all(name.endswith(NPY) for name in names):
        return ARRAYS
    if any(name.endswith("/constants.pkl") for name in names):
        return TORCHSCRIPT
    return CHECKPOINT if any(name.endswith("/data.pkl") for name in names) else ARCHIVE


def _entries(path: str) -> list[str] | None:
    """The names of an archive's entries; none where it came through a pipe, None where it is cut
    off.
    """
    if not os.path.isfile(path):
        return []
    try:
        with ZipFile(path) as archive:
            return archive.namelist()
    except (OSError, ValueError, BadZipFile):
        return None
