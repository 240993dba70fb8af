"""Cores whose matrix tiles compute whatever they can, however little it is, or nothing."""

from __future__ import annotations

from dataclasses import replace

from ncc.compiler.target import AMX

FAST = replace(AMX, core=replace(AMX.core, tile_multiply_adds=1 << 20, memory_line=1.0))
SLOW = replace(AMX, core=replace(AMX.core, tile_multiply_adds=1))
SHARED = replace(AMX, core=replace(AMX.core, tile_multiply_adds=AMX.core.tile_multiply_adds // 2))
"""As two virtual cores share the tiles of one."""
