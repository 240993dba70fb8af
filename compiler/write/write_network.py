"""A network -> its files: the back door of this room.

    write(module, "net.param", "net.bin")
    write(module, "net.param", "net.bin", fp16=True)

Both files appear together and whole: they are written under other names and renamed at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.write.param import param_text
from ncc.compiler.write.weights import KeptWide, write_weights
from ncc.compiler.write.wiring import Line, wire
from ncc.dialects.ncnn.layer import Layer, LayerError
from ncc.dialects.ncnn.network import Network
from ncc.runtime.draft import draft_of
from ncc.runtime.errors import InputError
from ncc.runtime.paths import PathLike


@dataclass(frozen=True)
class Written:
    """What was written: layers and blobs of the file, its bytes, and weights that stayed fp32."""

    layers: int
    blobs: int
    param_bytes: int
    bin_bytes: int
    kept_wide: tuple[KeptWide, ...]


def write(
    module: ModuleOp,
    param_path: PathLike,
    bin_path: PathLike,
    *,
    fp16: bool = False,
    hints: bool = True,
) -> Written:
    """Write a network as a text .param and its .bin, which ncnn loads.

    fp16: store the weights that can be as halves. hints: tell the shapes that are known, by which
    ncnn chooses kernels. The files that the weights come from may be written over.

    Raises `Unsupported` for what the format cannot say, `InputError` for paths that cannot be
    written to; then nothing is written.
    """
    lines, text = _text(module, hints)
    if Path(param_path).suffix == ".bin" and Path(bin_path).suffix == ".param":
        raise InputError(f"{param_path} is to hold the network and {bin_path} its weights: swapped")
    with _together(Path(param_path).resolve(), Path(bin_path).resolve()) as (param, bin):
        param.write_bytes(text.encode())
        with bin.open("wb") as file:
            kept = write_weights(_layers(lines), file, fp16=fp16)
        sizes = param.stat().st_size, bin.stat().st_size
    blobs = sum(len(line.outputs) for line in lines)
    return Written(len(lines), blobs, *sizes, tuple(kept))


def network_text(module: ModuleOp) -> str:
    """The .param text of a network. Raises `Unsupported` for what the format cannot say."""
    return _text(module, hints=True)[1]


def _text(module: ModuleOp, hints: bool) -> tuple[list[Line], str]:
    lines = wire(Network.of(module))
    for op in _layers(lines):
        try:
            op.verify_()
        except LayerError as error:
            raise CompilerBug(f"layer {op.layer_name!r} is not as ncnn has it: {error}") from error
    return lines, param_text(lines, hints=hints)


def _layers(lines: Sequence[Line]) -> list[Layer]:
    return [line.op for line in lines if line.op is not None]


@contextmanager
def _together(*paths: Path) -> Iterator[list[Path]]:
    """Drafts beside the paths, which become the paths if all goes well, and vanish if not."""
    if len(set(paths)) != len(paths):
        raise InputError(f"{paths[0]} cannot hold two files at once")
    for path in paths:
        if not path.parent.is_dir():
            raise InputError(f"{path} cannot be written: there is no folder {path.parent}")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} cannot be written: it is there and is no plain file")
    with ExitStack() as stack:
        yield [stack.enter_context(draft_of(path)) for path in paths]
