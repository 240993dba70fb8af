"""Networks to write, and ncnn itself to ask what it makes of the files."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.parser import Parser

from ncc.compiler.read.network import read
from ncc.dialects.ncnn.dialect import NCNN

Array: TypeAlias = NDArray[np.float32]
Network: TypeAlias = Callable[[str], ModuleOp]
Blobs: TypeAlias = dict[str, Array]
Job: TypeAlias = tuple[Path, Path, Mapping[str, Array]]
Ask: TypeAlias = Callable[[Sequence[Job]], list["Blobs | None"]]

# Runs each network in a child process, for some crash ncnn.
WORKER = """
import json, os, sys
import ncnn
import numpy as np

def run(job):
    net = ncnn.Net()
    net.opt.lightmode = False
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    if net.load_param(job["param"]) or net.load_model(job["bin"]):
        return 1
    extractor = net.create_extractor()
    given = np.load(job["inputs"])
    for name, key in zip(job["names"], given.files):
        extractor.input(name, ncnn.Mat(given[key]).clone())
    found = {}
    for name in net.output_names():
        status, mat = extractor.extract(name)
        if status:
            return 1
        found[name] = np.array(mat, np.float32) if mat.total() else np.zeros(0, np.float32)
    np.savez(job["outputs"], *found.values())
    open(job["outputs"] + ".json", "w").write(json.dumps(list(found)))
    return 0

for job in json.load(sys.stdin):
    child = os.fork()
    if not child:
        os._exit(run(job))
    os.waitpid(child, 0)
"""


@pytest.fixture
def network(tmp_path: Path) -> Network:
    """A network from the lines of its .param, with random weights."""

    def build(layers: str) -> ModuleOp:
        lines = [line.strip() for line in layers.strip().splitlines()]
        path = tmp_path / "given.param"
        path.write_text("\n".join(["7767517", f"{len(lines)} 100", *lines, ""]))
        return read(path, random_weights=1).module

    return build


@pytest.fixture(scope="session")
def parse() -> Network:
    """A network from the text of its IR."""

    def build(text: str) -> ModuleOp:
        context = Context()
        for dialect in (Builtin, Func, NCNN):
            context.load_dialect(dialect)
        return Parser(context, text).parse_module()

    return build


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """ask(jobs): the outputs that ncnn computes for each (param, bin, inputs); None if it fails."""
    if importlib.util.find_spec("ncnn") is None or not hasattr(os, "fork"):
        pytest.skip("ncnn is not installed, or there is no process for each file")

    def run(jobs: Sequence[Job]) -> list[Blobs | None]:
        request: list[dict[str, Any]] = []
        for number, (param, bin, inputs) in enumerate(jobs):
            stem = str(tmp_path / f"job{number}")
            np.savez(f"{stem}.in.npz", *inputs.values())
            files = {"inputs": f"{stem}.in.npz", "outputs": f"{stem}.out.npz"}
            names = list(inputs)
            request.append({"param": str(param), "bin": str(bin), "names": names, **files})
        text = json.dumps(request)
        done = subprocess.run(
            [sys.executable, "-c", WORKER], input=text, text=True, capture_output=True, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return [_outputs(Path(job["outputs"])) for job in request]

    return run


def _outputs(path: Path) -> Blobs | None:
    names = path.with_name(path.name + ".json")
    if not names.exists():
        return None
    with np.load(path) as held:
        arrays = [held[key] for key in held.files]
    return dict(zip(json.loads(names.read_text()), arrays, strict=True))
