"""Feed the three kinds of file to the reader, guided by coverage; run by hand, needs atheris.

    python tests/fuzz/fuzz_param.py -max_total_time=300 -rss_limit_mb=1024 -timeout=5

An input is one byte that chooses the kind, then the file. Anything that comes out but a network, a
ModelError or an Unsupported stops the run and leaves the input in a file `crash-...`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris  # type: ignore[import-not-found, import-untyped, unused-ignore]

with atheris.instrument_imports(include=["ncc"]):
    from ncc.compiler.diagnostics import ModelError, Unsupported
    from ncc.compiler.read.read_network import read

WEIGHTS = bytes(4096)

WITH_WEIGHTS = b"""7767517
4 5
Input data 0 1 data 0=8 1=8 2=4
Convolution conv 1 1 data a 0=4 1=3 4=1 5=1 6=144
BatchNorm norm 1 1 a b 0=4
MemoryData m 0 1 c 0=4 21=0
"""


def feed(folder: Path, data: bytes) -> None:
    """One network, broken in some way."""
    kind, rest = data[:1], data[1:]
    param, weights = (WITH_WEIGHTS, rest) if kind == b"w" else (rest, WEIGHTS)
    path = folder / "net.param"
    path.write_bytes(b"7767517\n" + param if kind == b"t" else param)
    path.with_suffix(".bin").write_bytes(weights)
    try:
        str(read(path).module)
    except (ModelError, Unsupported) as error:
        str(error)


def main() -> None:
    with TemporaryDirectory() as folder:
        atheris.Setup(sys.argv, lambda data: feed(Path(folder), data))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
