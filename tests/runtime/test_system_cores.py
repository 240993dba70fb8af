"""Cores and caches as Linux lists them."""

from __future__ import annotations

from pathlib import Path

from ncc.runtime.system_cores import arm_parts, largest_cache

FILES = {
    "cpu0/regs/identification/midr_el1": "0x00000000412fd050\n",
    "cpu1/regs/identification/midr_el1": "0x00000000414fd0b1\n",
    "cpu2/regs/identification/midr_el1": "0x00000000414fd0b1\n",
    "cpu0/cache/index0/level": "1\n",
    "cpu0/cache/index0/type": "Instruction\n",
    "cpu0/cache/index0/size": "256K\n",
    "cpu0/cache/index1/level": "1\n",
    "cpu0/cache/index1/type": "Data\n",
    "cpu0/cache/index1/size": "32K\n",
    "cpu1/cache/index1/level": "1\n",
    "cpu1/cache/index1/type": "Data\n",
    "cpu1/cache/index1/size": "64K\n",
    "cpu1/cache/index2/level": "2\n",
    "cpu1/cache/index2/type": "Unified\n",
    "cpu1/cache/index2/size": "1M\n",
}


def test_a_phone_has_cores_of_several_kinds(tmp_path: Path) -> None:
    """Each is named once; the largest cache counts. CPU 3 is offline and tells nothing."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert arm_parts(tmp_path, range(4)) == [0x41_D05, 0x41_D0B]
    assert arm_parts(tmp_path, [0, 3]) == [0x41_D05]
    assert largest_cache(1, tmp_path, range(4)) == 64 << 10
    assert largest_cache(1, tmp_path, [0]) == 32 << 10
    assert largest_cache(2, tmp_path, range(4)) == 1 << 20
    assert largest_cache(3, tmp_path, range(4)) is None
