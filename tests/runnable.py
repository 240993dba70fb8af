"""The targets whose code this CPU runs."""

from __future__ import annotations

from ncc.compiler.target import TARGETS
from ncc.runtime import cpu

RUNNABLE = [target for target in TARGETS if target.features <= cpu.features()]
NAMES = [target.name for target in RUNNABLE]
