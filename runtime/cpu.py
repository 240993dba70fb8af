"""The processor at hand: instruction sets, cores, caches.

Instruction sets are asked of the processor itself (cpuid), and of the operating system whether it
saves the wide registers (xgetbv): Intel SDM volume 1, chapter 14.3; AMD APM volume 3, appendix E.
Processors other than x86-64 answer no program, and the system answers for them.
"""

from __future__ import annotations

import ctypes
import functools
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from ncc.runtime.hardware_capabilities import features_of
from ncc.runtime.memory import Memory
from ncc.runtime.system_cores import arm_parts, largest_cache

# void cpuid(uint32_t leaf, uint32_t subleaf, uint32_t registers[4]): eax, ebx, ecx, edx
_CPUID = bytes.fromhex(
    "53"  # push rbx
    "4989d0"  # mov r8, rdx
    "89f8"  # mov eax, edi
    "89f1"  # mov ecx, esi
    "0fa2"  # cpuid
    "418900 41895804 41894808 4189500c"  # mov [r8 + 0, 4, 8, 12], eax, ebx, ecx, edx
    "5b c3"  # pop rbx; ret
)
# uint64_t xgetbv(uint32_t register)
_XGETBV = bytes.fromhex(
    "89f9"  # mov ecx, edi
    "0f01d0"  # xgetbv
    "48c1e220"  # shl rdx, 32
    "4809d0 c3"  # or rax, rdx; ret
)

_EAX, _EBX, _ECX, _EDX = range(4)
_EXTENDED = 0x80000000

# (leaf, subleaf, register) -> bit -> name. The names are those of /proc/cpuinfo.
_BITS: Mapping[tuple[int, int, int], Mapping[int, str]] = {
    (1, 0, _EDX): {15: "cmov", 23: "mmx", 25: "sse", 26: "sse2"},
    (1, 0, _ECX): {
        0: "pni", 1: "pclmulqdq", 9: "ssse3", 12: "fma", 13: "cx16", 19: "sse4_1", 20: "sse4_2",
        22: "movbe", 23: "popcnt", 25: "aes", 26: "xsave", 28: "avx", 29: "f16c",
    },
    (7, 0, _EBX): {
        3: "bmi1", 5: "avx2", 8: "bmi2", 16: "avx512f", 17: "avx512dq", 21: "avx512ifma",
        28: "avx512cd", 30: "avx512bw", 31: "avx512vl",
    },
    (7, 0, _ECX): {
        1: "avx512vbmi", 6: "avx512_vbmi2", 8: "gfni", 9: "vaes", 10: "vpclmulqdq",
        11: "avx512_vnni", 12: "avx512_bitalg", 14: "avx512_vpopcntdq",
    },
    (7, 0, _EDX): {22: "amx_bf16", 23: "avx512_fp16", 24: "amx_tile", 25: "amx_int8"},
    (7, 1, _EAX): {4: "avx_vnni", 5: "avx512_bf16", 21: "amx_fp16", 23: "avx_ifma"},
    (_EXTENDED + 1, 0, _ECX): {0: "lahf_lm", 5: "abm"},
}  # fmt: skip

# Bits of XCR0: the register state that the operating system saves when it switches threads.
_YMM_STATE = 0b110
_ZMM_STATE = 0b1110_0110
_TILE_STATE = 0b11 << 17
OSXSAVE = 27
"""The bit of leaf 1, ecx: the system saves registers by xsave, and lets programs ask which."""

_BASELINE = frozenset({"cmov", "mmx", "sse", "sse2"})
_AVX2 = _BASELINE | {
    "abm", "avx", "avx2", "bmi1", "bmi2", "cx16", "f16c", "fma", "lahf_lm", "movbe", "pni",
    "popcnt", "sse4_1", "sse4_2", "ssse3", "xsave",
}  # fmt: skip
_AVX512 = _AVX2 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
_AVX512_VNNI = _AVX512 | {"avx512_vnni"}

# The features that code for each target may use, widest first: x86-64-v4 with matrix tiles, with
# dot products of bytes, and alone; x86-64-v3 and x86-64 of the psABI; Armv8 with matrix
# products of bytes, with dot products of bytes, and alone.
TARGETS: Mapping[str, frozenset[str]] = {
    "amx": _AVX512_VNNI | {"avx512_bf16", "avx512vbmi", "amx_tile", "amx_bf16"},
    "avx512vnni": _AVX512_VNNI,
    "avx512": _AVX512,
    "avx2": _AVX2,
    "baseline": _BASELINE,
    "neoni8mm": frozenset({"asimd", "asimddp", "i8mm"}),
    "neondot": frozenset({"asimd", "asimddp"}),
    "neon": frozenset({"asimd"}),
    "rvv": frozenset({"v"}),
}

_ARCHITECTURES = {
    **dict.fromkeys(("neoni8mm", "neondot", "neon"), "aarch64"),
    "rvv": "riscv64",
}

L1_DEFAULT = 32 << 10
L2_DEFAULT = 1 << 20

_INSTRUCTIONS = 2
"""The type of a cache that holds no data, in leaf 4."""

_AUTHENTIC_AMD = int.from_bytes(b"Auth", "little")
_ZEN_5 = 26
_HALF_WIDE_ZEN_5 = {*range(0x20, 0x40), *range(0x60, 0x70)}
"""Models of that family, for notebooks, whose units take 256 bits."""
_TWO_WIDE_UNITS = {0x55, 0x6A, 0x6C}
"""Models of Intel's Skylake to Ice Lake servers; those that followed have avx512_fp16."""

_SYS_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XFEATURE_XTILEDATA = 18
TILES_REQUEST = _SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA
"""The system call that asks Linux for the use of AMX tiles, with its arguments."""


def machine() -> str:
    """The kind of processor whose code this process runs, as in /proc/sys/kernel/arch."""
    return os.uname().machine if ctypes.sizeof(ctypes.c_void_p) == 8 else "a 32-bit process"


def architecture_of(target: str) -> str:
    """The kind of processor that runs the code of a target."""
    return _ARCHITECTURES.get(target, "x86_64")


def is_x86_64() -> bool:
    """Whether this machine answers the instructions that the functions below ask."""
    return machine() == "x86_64"


class Processor:
    """cpuid and xgetbv, from a page of machine code. x86-64 only."""

    def __init__(self) -> None:
        self._page = Memory(len(_CPUID) + len(_XGETBV))
        self._page.bytes[: len(_CPUID) + len(_XGETBV)] = _CPUID + _XGETBV
        self._page.make_executable(0, self._page.size)
        number = ctypes.c_uint32
        entry = self._page.address
        self._cpuid = ctypes.CFUNCTYPE(None, number, number, ctypes.c_void_p)(entry)
        self._xgetbv = ctypes.CFUNCTYPE(ctypes.c_uint64, number)(entry + len(_CPUID))

    def leaf(self, leaf: int, subleaf: int = 0) -> tuple[int, int, int, int]:
        """eax, ebx, ecx and edx; zeros for a leaf that this processor does not have."""
        registers = (ctypes.c_uint32 * 4)()
        self._cpuid(leaf & _EXTENDED, 0, registers)
        if leaf > registers[_EAX]:
            return 0, 0, 0, 0
        self._cpuid(leaf, subleaf, registers)
        eax, ebx, ecx, edx = registers
        return eax, ebx, ecx, edx

    def saved_state(self) -> int:
        """XCR0; 0 when the operating system does not use it (xgetbv would trap)."""
        if not self.leaf(1)[_ECX] >> OSXSAVE & 1:
            return 0
        return int(self._xgetbv(0))


@functools.cache
def features() -> frozenset[str]:
    """Instruction sets that programs may use here, named as in /proc/cpuinfo.

    Empty on a machine that runs no code of ncc.
    """
    if not is_x86_64():
        return features_of(machine())
    processor = Processor()
    found = {
        name
        for (leaf, subleaf, register), names in _BITS.items()
        for bit, name in names.items()
        if processor.leaf(leaf, subleaf)[register] >> bit & 1
    }
    state = processor.saved_state()
    return frozenset(name for name in found if state & _state_of(name) == _state_of(name))


@functools.cache
def model() -> str:
    """What this processor calls itself, and its family, model and stepping in hexadecimal."""
    if not is_x86_64():
        return " ".join([os.uname().machine, *(f"{part:x}" for part in arm_parts())])
    processor = Processor()
    registers = [n for leaf in (2, 3, 4) for n in processor.leaf(_EXTENDED + leaf)]
    name = struct.pack("<12I", *registers).partition(b"\0")[0].decode(errors="replace")
    return " ".join([*name.split(), f"{processor.leaf(1)[_EAX]:x}"])


def _state_of(feature: str) -> int:
    """The bits of XCR0 that must be set for a feature to be usable."""
    if feature.startswith("amx"):
        return _TILE_STATE
    if feature.startswith("avx512"):
        return _ZMM_STATE
    if feature.startswith("avx") or feature in ("fma", "f16c", "vaes", "vpclmulqdq"):
        return _YMM_STATE
    return 0


def saved_state_of(features: Iterable[str]) -> int:
    """The bits of XCR0 that must be set for all of some features to be usable."""
    state = 0
    for feature in features:
        state |= _state_of(feature)
    return state


def words_of(features: Iterable[str]) -> list[tuple[int, int, int, int]]:
    """Where cpuid tells of some features of x86-64: leaf, subleaf, register and bits of it."""
    needed = frozenset(features)
    words = (
        (*place, sum(1 << bit for bit, name in names.items() if name in needed))
        for place, names in _BITS.items()
    )
    return [word for word in words if word[3]]


def widest_target() -> str | None:
    """The first of TARGETS whose instructions are all here; None on a foreign machine."""
    return next((name for name, needed in TARGETS.items() if needed <= features()), None)


def allow_tiles() -> bool:
    """Ask Linux for the use of AMX tiles in this process; whether it agreed.

    Without this permission the first tile instruction ends the process. It holds for all threads
    and costs each that uses tiles 8 KB. Asking again is harmless.
    """
    if "amx_tile" not in features():
        return False
    libc = ctypes.CDLL(None)
    return int(libc.syscall(*map(ctypes.c_long, TILES_REQUEST))) == 0


def cores() -> int:
    """How many threads can run at once: by affinity, and by the CPU quota of the control group.

    A quota of 2.5 cores counts as 2: threads that wait for each other at barriers lose more from
    being throttled than they win from half a core.
    """
    available = len(os.sched_getaffinity(0))
    quota = _quota(Path("/"))
    return available if quota is None else max(1, min(available, int(quota)))


def shares_cores() -> bool:
    """Whether some CPUs that this process may use are virtual ones of the same core."""
    return _share_cores(os.sched_getaffinity(0), Path("/sys/devices/system/cpu"))


def _share_cores(cpus: Iterable[int], folder: Path) -> bool:
    """The same of some CPUs. One of which the system does not say it counts as a core."""
    seen: set[str] = set()
    for cpu in cpus:
        try:
            siblings = (folder / f"cpu{cpu}/topology/thread_siblings_list").read_text()
        except OSError:
            continue
        if siblings in seen:
            return True
        seen.add(siblings)
    return False


def _quota(root: Path) -> float | None:
    """The least CPU quota (in cores) of this process's control groups, versions 1 and 2."""
    try:
        groups = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    quotas: list[float] = []
    for group in groups:
        _, controllers, path = group.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup"
        for mount in [top / controllers, top / "cpu"] if controllers else [top, top / "unified"]:
            # A container often sees the path of its host, of which only the tail is mounted:
            # every folder on the way up is looked at, those that do not exist limit nothing.
            folder = mount / path.lstrip("/")
            for place in (folder, *folder.parents[: len(folder.relative_to(mount).parts)]):
                quota = _quota_of(place)
                if quota is not None:
                    quotas.append(quota)
    return min(quotas, default=None)


def _quota_of(folder: Path) -> float | None:
    """The quota that one control group sets, in cores."""
    try:
        if (folder / "cpu.max").exists():
            limit, period = (folder / "cpu.max").read_text().split()
        else:
            limit = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
    except OSError:
        return None
    if limit in ("max", "-1") or int(period) <= 0:
        return None
    return int(limit) / int(period)


@functools.cache
def l1_bytes() -> int:
    """Size of one core's level-1 data cache; L1_DEFAULT where the processor does not say."""
    return _cache_bytes(1) or L1_DEFAULT


@functools.cache
def l2_bytes() -> int:
    """Size of one core's level-2 cache; L2_DEFAULT where the processor does not say."""
    return _cache_bytes(2) or L2_DEFAULT


def _cache_bytes(level: int) -> int | None:
    """Size of the cache for data of one level.

    Read from leaf 4 (Intel) or 0x8000001d (AMD), which list one cache a subleaf; from the system on
    other processors.
    """
    if not is_x86_64():
        return largest_cache(level)
    processor = Processor()
    for leaf in (4, _EXTENDED + 0x1D):
        for subleaf in range(8):
            eax, ebx, ecx, _ = processor.leaf(leaf, subleaf)
            if eax & 0x1F == 0:
                break
            if eax >> 5 & 0x7 == level and eax & 0x1F != _INSTRUCTIONS:
                ways, partitions, line = ebx >> 22, ebx >> 12 & 0x3FF, ebx & 0xFFF
                return (ways + 1) * (partitions + 1) * (line + 1) * (ecx + 1)
    return None


@functools.cache
def is_of_amd() -> bool:
    """Whether AMD made this processor."""
    return is_x86_64() and Processor().leaf(0)[_EBX] == _AUTHENTIC_AMD


@functools.cache
def wide_multiply_adders() -> int:
    """How many 512-bit multiply-adds one core begins in a cycle, 1 or 2.

    No leaf says it. Intel's servers have two such units, its clients one; AMD's have two halves of
    one up to family 25, two from then on, except for notebooks.
    """
    if "avx512f" not in features():
        return 1
    processor = Processor()
    eax = processor.leaf(1)[_EAX]
    family = (eax >> 8 & 0xF) + (eax >> 20 & 0xFF)
    model = (eax >> 4 & 0xF) | (eax >> 12 & 0xF0)
    if is_of_amd():
        half = family < _ZEN_5 or (family == _ZEN_5 and model in _HALF_WIDE_ZEN_5)
        return 1 if half else 2
    return 2 if model in _TWO_WIDE_UNITS or "avx512_fp16" in features() else 1
