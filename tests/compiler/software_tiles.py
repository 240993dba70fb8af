"""Matrix tiles in software: what code for them computes, on a CPU that has none.

LLVM's text is changed: registers are memory on the stack of each function, and every tile
instruction is a call of a function that does the same to them. Products are added in pairs, as the
instruction adds them, and like all arithmetic on a thread of ncc they flush denormal numbers.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ncc.compiler.llvm import object_code
from ncc.compiler.target import AMX, Target
from ncc.runtime import cpu
from ncc.runtime.artifact import Artifact

FEATURES = frozenset(name for name in AMX.features if not name.startswith("amx"))
"""What code needs that was made so."""

_CALL = re.compile(r"call void @llvm\.x86\.(ldtilecfg|tile\w+|tdpbf16ps)\((.*)\)")
_NAMES = {"tilezero": "zero", "tileloadd64": "load", "tilestored64": "store", "tdpbf16ps": "sum"}

_FUNCTIONS = """
define internal void @tiles.zero(ptr %tiles, i8 %tile) nounwind {
  %at = getelementptr [1024 x i8], ptr %tiles, i8 %tile
  store [256 x float] zeroinitializer, ptr %at, align 64
  ret void
}

define internal void @tiles.move(ptr %to, i64 %far, ptr %from, i64 %near, i64 %rows) nounwind {
  br label %row
row:
  %k = phi i64 [0, %0], [%next, %row]
  %there = mul i64 %k, %far
  %here = mul i64 %k, %near
  %target = getelementptr i8, ptr %to, i64 %there
  %source = getelementptr i8, ptr %from, i64 %here
  %value = load <16 x i32>, ptr %source, align 1
  store <16 x i32> %value, ptr %target, align 1
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %rows
  br i1 %more, label %row, label %end
end:
  ret void
}

define internal void @tiles.load(
    ptr %tiles, ptr %shapes, i8 %tile, ptr %from, i64 %distance) nounwind {
  %at = getelementptr [1024 x i8], ptr %tiles, i8 %tile
  %rows = call i64 @tiles.rows(ptr %shapes, i8 %tile)
  call void @tiles.move(ptr %at, i64 64, ptr %from, i64 %distance, i64 %rows)
  ret void
}

define internal void @tiles.store(
    ptr %tiles, ptr %shapes, i8 %tile, ptr %to, i64 %distance) nounwind {
  %at = getelementptr [1024 x i8], ptr %tiles, i8 %tile
  %rows = call i64 @tiles.rows(ptr %shapes, i8 %tile)
  call void @tiles.move(ptr %to, i64 %distance, ptr %at, i64 64, i64 %rows)
  ret void
}

define internal i64 @tiles.rows(ptr %shapes, i8 %tile) nounwind {
  %held = getelementptr i8, ptr %shapes, i64 48
  %of = getelementptr i8, ptr %held, i8 %tile
  %rows = load i8, ptr %of
  %wide = zext i8 %rows to i64
  ret i64 %wide
}

define internal void @tiles.sum(
    ptr %tiles, ptr %shapes, i8 %sums, i8 %left, i8 %right) nounwind {
  %c = getelementptr [1024 x i8], ptr %tiles, i8 %sums
  %a = getelementptr [1024 x i8], ptr %tiles, i8 %left
  %b = getelementptr [1024 x i8], ptr %tiles, i8 %right
  %rows = call i64 @tiles.rows(ptr %shapes, i8 %sums)
  br label %row
row:
  %m = phi i64 [0, %0], [%m.next, %row.end]
  %c.row = getelementptr <16 x float>, ptr %c, i64 %m
  %a.row = getelementptr [16 x i32], ptr %a, i64 %m
  %begin = load <16 x float>, ptr %c.row, align 64
  br label %pair
pair:
  %k = phi i64 [0, %row], [%k.next, %pair]
  %total = phi <16 x float> [%begin, %row], [%second, %pair]
  %a.pair = getelementptr i32, ptr %a.row, i64 %k
  %b.pair = getelementptr <16 x i32>, ptr %b, i64 %k
  %x = load i32, ptr %a.pair
  %w = load <16 x i32>, ptr %b.pair, align 64
  %one = insertelement <16 x i32> poison, i32 %x, i64 0
  %xs = shufflevector <16 x i32> %one, <16 x i32> poison, <16 x i32> zeroinitializer
  %x.even = shl <16 x i32> %xs, splat (i32 16)
  %w.even = shl <16 x i32> %w, splat (i32 16)
  %x.odd = and <16 x i32> %xs, splat (i32 -65536)
  %w.odd = and <16 x i32> %w, splat (i32 -65536)
  %x0 = bitcast <16 x i32> %x.even to <16 x float>
  %w0 = bitcast <16 x i32> %w.even to <16 x float>
  %x1 = bitcast <16 x i32> %x.odd to <16 x float>
  %w1 = bitcast <16 x i32> %w.odd to <16 x float>
  %p0 = fmul <16 x float> %x0, %w0
  %p1 = fmul <16 x float> %x1, %w1
  %first = fadd <16 x float> %total, %p0
  %second = fadd <16 x float> %first, %p1
  %k.next = add i64 %k, 1
  %pairs.more = icmp ult i64 %k.next, 16
  br i1 %pairs.more, label %pair, label %row.end
row.end:
  store <16 x float> %second, ptr %c.row, align 64
  %m.next = add i64 %m, 1
  %rows.more = icmp ult i64 %m.next, %rows
  br i1 %rows.more, label %row, label %end
end:
  ret void
}
"""


def can_run() -> bool:
    """Whether this CPU has all but the tiles."""
    return cpu.features() >= FEATURES


def in_software(text: str) -> str:
    """LLVM's text without tile instructions."""
    lines: list[str] = []
    shapes = ""
    for line in text.splitlines():
        found = _CALL.search(line)
        if line.startswith("declare") and re.search(r"@llvm\.x86\.(ldtile|tile|tdp)", line):
            continue
        if found is None:
            lines.append(line)
            continue
        name, arguments = found.groups()
        if name == "ldtilecfg":
            shapes = arguments
            lines.append("  %tiles = alloca [8192 x i8], i64 1, align 64")
        elif name == "tilezero":
            lines.append(f"  call void @tiles.zero(ptr %tiles, {arguments})")
        elif name != "tilerelease":
            lines.append(f"  call void @tiles.{_NAMES[name]}(ptr %tiles, {shapes}, {arguments})")
    return "\n".join(lines) + (_FUNCTIONS if shapes else "")


def without_tiles(artifact: Artifact) -> Artifact:
    """An artifact of such code, for this CPU."""
    return replace(artifact, features=FEATURES)


def emit_object(text: str, target: Target, effort: int) -> bytes:
    """An object whose code runs without tiles."""
    return object_code.emit_object(in_software(text), target, effort)
