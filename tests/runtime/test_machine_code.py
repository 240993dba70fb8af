"""Objects are loaded right, or refused with a reason; never half."""

from __future__ import annotations

import ctypes
import random
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncc.runtime.errors import ArtifactError
from ncc.runtime.machine_code import MachineCode

# Every kind of section: code, constants, a constant pool, data, zeroed data, a table of pointers.
SECTIONS = """
@table = private constant [4 x i64] [i64 10, i64 20, i64 30, i64 40]
@counter = internal global i64 7
@zeroed = internal global [1000 x i64] zeroinitializer
@functions = internal constant [2 x ptr] [ptr @one, ptr @two]

define internal i64 @one() { ret i64 1 }
define internal i64 @two() { ret i64 2 }

define i64 @look(i64 %i) {
  %p = getelementptr i64, ptr @table, i64 %i
  %v = load i64, ptr %p
  ret i64 %v
}
define i64 @count() {
  %old = load i64, ptr @counter
  %new = add i64 %old, 1
  store i64 %new, ptr @counter
  ret i64 %new
}
define i64 @swap(i64 %i, i64 %value) {
  %p = getelementptr i64, ptr @zeroed, i64 %i
  %old = load i64, ptr %p
  store i64 %value, ptr %p
  ret i64 %old
}
define i64 @through(i64 %i) {
  %p = getelementptr ptr, ptr @functions, i64 %i
  %f = load ptr, ptr %p
  %v = call i64 %f()
  ret i64 %v
}
define double @scale(double %x) {
  %y = fmul double %x, 2.5
  ret double %y
}
"""

CALLER = """
declare i64 @shared(i64)
@far = external global i64
define i64 @call(i64 %x) {
  %y = call i64 @shared(i64 %x)
  %z = load i64, ptr @far
  %s = add i64 %y, %z
  ret i64 %s
}
"""
CALLEE = """
@far = global i64 100
define i64 @shared(i64 %x) {
  %y = mul i64 %x, 3
  ret i64 %y
}
"""


def call(code: MachineCode, name: str, *arguments: int) -> int:
    """The result of an integer function."""
    kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(arguments))
    return int(kind(code.address(name))(*arguments))


@pytest.fixture(scope="module")
def sections(assemble: Any) -> bytes:
    """The object of SECTIONS."""
    return bytes(assemble(SECTIONS))


def test_all_kinds_of_sections(sections: bytes) -> None:
    """Constants are read, data is written, zeroed data is zero, pointers point."""
    code = MachineCode([sections])
    assert [call(code, "look", i) for i in range(4)] == [10, 20, 30, 40]
    assert [call(code, "count") for _ in range(3)] == [8, 9, 10]
    assert call(code, "swap", 999, 5) == 0 and call(code, "swap", 999, 6) == 5
    assert [call(code, "through", i) for i in range(2)] == [1, 2]
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)
    assert kind(code.address("scale"))(3.0) == 7.5


def test_two_loads_share_nothing(sections: bytes) -> None:
    """Each has data of its own."""
    first, second = MachineCode([sections]), MachineCode([sections])
    assert call(first, "count") == 8 and call(second, "count") == 8


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("model", ["small", "large"])
def test_objects_see_each_other(assemble: Any, order: int, model: str) -> None:
    """Functions and data across objects, in any order, by near and by absolute addresses."""
    reloc = "pic" if model == "small" else "static"
    objects = [assemble(text, model, reloc) for text in (CALLER, CALLEE)]
    code = MachineCode(objects[::-1] if order else objects)
    assert call(code, "call", 7) == 121
    assert set(code.symbols) == {"call", "shared", "far"}


def test_addresses_beyond_two_gigabytes_are_refused(assemble: Any) -> None:
    """Code that expects to lie low does not reach its target where pages are mapped."""
    with pytest.raises(ArtifactError, match="R_X86_64_32S? does not reach its target"):
        MachineCode([assemble(SECTIONS, "small", "static")])


def test_symbols_that_are_missing_or_double_are_named(assemble: Any) -> None:
    """The reason names the symbol."""
    with pytest.raises(ArtifactError, match="refers to (shared|far), which none of its objects"):
        MachineCode([assemble(CALLER)])
    with pytest.raises(ArtifactError, match="defines (far|shared) twice"):
        MachineCode([assemble(CALLEE), assemble(CALLEE)])
    with pytest.raises(ArtifactError, match="does not define main"):
        MachineCode([assemble(CALLEE)]).address("main")


def test_a_weak_symbol_yields(assemble: Any) -> None:
    """To a strong one of the same name, before or after it."""
    weak = assemble("define weak i64 @f() { ret i64 1 }")
    strong = assemble("define i64 @f() { ret i64 2 }")
    for objects in ([weak, strong], [strong, weak]):
        assert call(MachineCode(objects), "f") == 2
    assert call(MachineCode([weak, weak]), "f") == 1


def test_constructors_and_thread_locals_are_refused(assemble: Any) -> None:
    """Nothing would run the ones or make room for the others."""
    with pytest.raises(ArtifactError, match="wants to be loaded"):
        MachineCode([assemble('@x = global i64 3, section ".init_array"')])
    with pytest.raises(ArtifactError, match="thread-local"):
        MachineCode([assemble("@x = thread_local global i64 3")])


def test_code_cannot_be_written(sections: bytes) -> None:
    """Code and constants are frozen; the kernel lists them as readable and executable."""
    code = MachineCode([sections])
    address = code.address("look")
    with open("/proc/self/maps") as maps:
        for line in maps:
            first, last = (int(part, 16) for part in line.split()[0].split("-"))
            if first <= address < last:
                assert line.split()[1] == "r-xp"
                return
    pytest.fail("the code is not mapped")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "ends too early"),
        (b"\x7fELF", "ends too early"),
        (b"MZ" + bytes(100), "no 64-bit little-endian ELF"),
        (b"\x7fELF\x01\x01\x01" + bytes(100), "no 64-bit little-endian ELF"),
        (b"\x7fELF\x02\x01\x01" + bytes(100), "no relocatable object for x86_64 or aarch64"),
    ],
)
def test_foreign_bytes_are_refused(data: bytes, why: str) -> None:
    """With what they are not."""
    with pytest.raises(ArtifactError, match=why):
        MachineCode([data])


def test_every_cut_of_an_object_is_refused(sections: bytes) -> None:
    """The section table stands last, so no prefix is an object."""
    for end in range(0, len(sections), 7):
        with pytest.raises(ArtifactError):
            MachineCode([sections[:end]])


@pytest.mark.parametrize("seed", range(4))
def test_broken_headers_end_in_an_error(sections: bytes, seed: int) -> None:
    """Any change of the tables loads or is refused; nothing is written out of bounds."""
    chance = random.Random(seed)
    (table,) = struct.unpack_from("<Q", sections, 40)
    for _ in range(400):
        data = bytearray(sections)
        for _ in range(chance.randint(1, 4)):
            low = table if chance.random() < 0.6 else 0
            at = chance.randrange(low, len(data))
            data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, data[at] ^ 1 << chance.randrange(8)])
        try:
            MachineCode([bytes(data)])
        except ArtifactError:
            pass


@given(st.binary(max_size=300))
def test_random_bytes_after_a_good_header(tail: bytes) -> None:
    """A header that announces a section table over random bytes."""
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01", 1, 62, 1, 0, 0, 64, 0, 64, 0, 0, 64, len(tail) // 64, 0,
    )  # fmt: skip
    try:
        MachineCode([header + tail])
    except ArtifactError:
        pass
