"""What emulated processors run: networks, and some recordings of every layer."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from ncc.dialects.ncnn.dialect import NCNN
from ncc.dialects.ncnn.layer import LAYERS
from tests.judge import mark
from tests.recorded import Case

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples/digits"
MODELS = ROOT.parent / "shared/models"

SHAPES = {"vision_transformer": {"input": (3, 384, 384)}}
"""The inputs whose shapes a file does not state."""

OPEN = ("mnasnet", "mobilenet_v2", "mobilenet_v3", "shufflenet_v2", "squeezenet_v1.1")
"""Networks of images of any size."""

TOLERANCE = 1e-4
"""Of the largest value of an output, as for targets that run here."""

PARTS = 4
_TYPES = sorted(LAYERS) if NCNN.name else []
_A_TYPE = 3
"""Recordings of each layer type."""


def recordings(part: int, target: str, recorded_cases: Callable[[str], list[Case]]) -> list[Case]:
    """Some of every layer type of a part, others for each target."""
    draw, some = random.Random(target), []
    for type in _TYPES[part::PARTS]:
        held = [case for case in recorded_cases(type) if mark(case) is None and case.holds_here]
        some += draw.sample(held, min(_A_TYPE, len(held)))
    return some
