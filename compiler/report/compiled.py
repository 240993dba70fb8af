"""The facts of a compiled file: what it takes, makes and runs, and how long a run takes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from ncc.compiler.diagnostics import NccError
from ncc.compiler.feeds import all_feeds
from ncc.compiler.measure.timing import BURST_MILLISECONDS, Timing, burst
from ncc.compiler.report.facts import Blob, Facts, Memory, Missing, Step, Time
from ncc.compiler.report.request import Request, about_machine
from ncc.dialects.shapes import OpenShape
from ncc.runtime.artifact import Artifact, Binding, as_bytes
from ncc.runtime.session import Model

OF_THE_NETWORK = (
    "layers and rewrites, kernels, the memory plan and results",
    "a compiled file has code and no network: make the report of its .param or .onnx for these",
)


def gather_compiled(request: Request) -> Facts:
    """The facts of a .ncc."""
    artifact = Artifact.load(request.param, any_cpu=True)
    missing = [Missing(*OF_THE_NETWORK)]
    time: Time | None = None
    if request.measured:
        try:
            time = _time(artifact, request)
        except NccError as error:
            missing.append(Missing("time", str(error)))
    steps = tuple(
        Step(tuple(layers), kernel, None, None, None, None)
        for kernel, layers in artifact.info.get("steps", [])
    )
    known = artifact.sizes is None
    return Facts(
        model=os.path.basename(os.fspath(request.param)),
        about={
            "compiled from": str(artifact.info.get("model", "a network")),
            "optimization level": f"-O{artifact.info.get('opt_level', '?')}",
            "target": artifact.target,
            "threads": f"at most {artifact.threads}",
            "code": f"{sum(map(len, artifact.objects)):,} bytes",
            **about_machine(),
        },
        inputs=tuple(map(_blob, artifact.inputs)),
        outputs=tuple(map(_blob, artifact.outputs)),
        file=(),
        now=(),
        rewrites=(),
        steps=steps,
        kernels=(),
        memory=Memory(
            artifact.arena_bytes if known else None, as_bytes(artifact.weights).nbytes, ()
        ),
        time=time,
        results=None,
        notices=(),
        missing=tuple(missing),
    )


def _blob(binding: Binding) -> Blob:
    return Blob(binding.name, binding.dtype, binding.extents)


def _time(artifact: Artifact, request: Request) -> Time:
    """The time of whole runs. Raises ArtifactError for code that is not for this CPU, InputError
    where a shape is open.
    """
    shapes = request.options.get("input_shapes") or {}
    inputs = [_shaped(binding, shapes) for binding in artifact.inputs]
    feeds = all_feeds(inputs, request.feeds, request.seed, request.value_range)
    with Model(artifact) as model:
        samples: list[float] = []
        for _ in range(request.rounds):
            samples += burst(lambda: model.run(feeds), BURST_MILLISECONDS)
    time = Timing.of(samples)
    return Time(time.min, time.median, time.p95, time.runs, None, None)


def _shaped(binding: Binding, shapes: Mapping[str, OpenShape]) -> Binding:
    """The binding with the shape that the caller gives in place of an open one."""
    shape = shapes.get(binding.name)
    if shape is None or None in shape or not binding.is_open:
        return binding
    return replace(binding, shape=tuple(extent or 0 for extent in shape), ranges=())
