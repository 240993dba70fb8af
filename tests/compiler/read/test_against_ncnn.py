"""What ncnn itself takes and refuses: the wheel is asked, in a process that may crash."""

from __future__ import annotations

import importlib.util
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("ncnn") is None, reason="the ncnn wheel is not installed"
    ),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process for each file"),
]

ERRORS = Path(__file__).parents[2] / "errors"

# Loads each file in a child process, for some of them crash ncnn or use up the memory.
ASK = """
import os, resource, sys
import ncnn

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for path in sys.stdin.read().split("\\n"):
    child = os.fork()
    if not child:
        net = ncnn.Net()
        net.opt.num_threads = 1  # each would take memory
        refused = net.load_param(path)
        weights = path.removesuffix(".param") + ".bin"
        if not refused and os.path.exists(weights):
            refused = net.load_model(weights)
        os._exit(1 if refused else 0)
    print(int(os.waitpid(child, 0)[1] == 0))
"""

LOADED_BY_NCNN = {
    "binaryop_one_input",  # crashes when run
    "crop_start_behind_end",  # crashes when run
    "crop_without_extents",  # fails when run
    "cycle",  # two blobs of one name, where the blob count has room for them
    "float_for_integer",  # the default counts
    "kernel_too_large",  # an extent of -2
    "made_in_place",  # two blobs of one name
    "made_twice",  # two blobs of one name
    "interp_type",  # nothing is computed
    "negative_padding",  # crops by accident
    "never_made",  # crashes unless the caller feeds it
    "noop_with_more_outputs",  # crashes when run
    "not_text",  # a name is any bytes
    "pixelshuffle_indivisible",  # fails when run
    "read_before_made",  # as the cycle
    "reshape_to_another_size",  # has the extents, without the values
    "reshape_two_unknowns",  # extents of -32 and -1
    "shufflechannel_indivisible",  # fails when run
    "slice_beyond_axis",  # reads what is not there
    "slice_without_sizes",  # crashes when run
    "softmax_axis",  # the input comes back
    "weights_missing",  # not asked for here
}
"""The broken models that ncnn does not refuse to load, and what comes of them."""


def loads(paths: Sequence[Path]) -> list[bool]:
    """Whether ncnn loads each file, with the .bin beside it if there is one."""
    answer = subprocess.run(
        [sys.executable, "-c", ASK],
        input="\n".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return [line == "1" for line in answer.stdout.split()]


def we_read(path: Path) -> bool:
    try:
        infer_shapes(read(path, random_weights=0).module)
    except (ModelError, Unsupported):
        return False
    return True


def test_ncnn_refuses_the_broken_models_too() -> None:
    """But for those whose fate is told above."""
    paths = sorted(ERRORS.glob("*.param"))
    taken = {path.stem for path, loaded in zip(paths, loads(paths), strict=True) if loaded}
    assert taken == LOADED_BY_NCNN


TEXT = """7767517
5 8
Input data 0 1 data -23330=4,3,8,8,2 0=8 1=8 2=2
Split s 1 3 data a b i
Dropout d 1 1 a c 0=0.5
BinaryOp e 2 1 b c e 0=2
UnaryOp f 1 1 i f 0=1
"""

PIECES = (
    *("0", "1", "-1", "2", "30", "31", "99", "1.5", "1e3", ".", "-", "+", "e", ",", "=", '"'),
    *(" ", "\n", "\t", "\r", "a", "data", "0=", "=1", " 0=1", " 0=1.0", "-23300=2,", "-23300=0"),
    *(" 1=2,", " 3=w", ' 3="a b"', "Noop n 1 1 c g\n", "#"),
)


def edited(source: random.Random) -> str:
    """A good text with some wrong places."""
    text = TEXT
    for _ in range(source.randint(1, 2)):
        at = source.randrange(8, len(text))
        length = source.choice((0, 0, 1, 2, 5))
        text = text[:at] + source.choice(PIECES) + text[at + length :]
    return text


def test_whatever_ncnn_refuses_is_refused(tmp_path: Path) -> None:
    """A thousand good files with one or two wrong places each."""
    source = random.Random(1)
    paths = [tmp_path / f"{number}.param" for number in range(1000)]
    for path in paths:
        path.write_text(edited(source), newline="")
    loaded = loads(paths)
    assert 100 < sum(loaded) < 900
    disagreed = [
        path.read_text()
        for path, good in zip(paths, loaded, strict=True)
        if not good and we_read(path)
    ]
    assert not disagreed, disagreed[0]
