"""The targets whose code this CPU runs, and what ncnn makes of it."""

from __future__ import annotations

from ncc.compiler.target import TARGETS
from ncc.runtime import cpu

RUNNABLE = [target for target in TARGETS if target.features <= cpu.features()]
NAMES = [target.name for target in RUNNABLE]

ESTIMATES = "intel" in cpu.model().lower()
"""Whether this CPU estimates reciprocals as layers know them from ncnn's release, which asks it to:
other makers' CPUs estimate others, and bins of ROIPooling end elsewhere.
"""
