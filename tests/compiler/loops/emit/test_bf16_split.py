"""How kernels store bf16 numbers: both blocks of a line at once, if they have both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ncc.compiler.pipeline import stages


def kernels(folder: Path, channels: int) -> Iterator[str]:
    """The kernels of two convolutions, one of them depthwise, before one on matrix tiles."""
    param = folder / "net.param"
    param.write_text(
        "7767517\n4 4\nInput in 0 1 in 0=28 1=28 2=32\n"
        f"Convolution wide 1 1 in wide 0={channels} 1=1 5=1 6={32 * channels}\n"
        f"ConvolutionDepthWise dw 1 1 wide dw 0={channels} 1=3 4=1 5=1 6={9 * channels} "
        f"7={channels} 9=1\n"
        f"Convolution narrow 1 1 dw out 0=32 1=1 5=1 6={32 * channels}\n"
    )
    texts = stages(param, None, opt_level=3, target="amx", random_weights=1)
    loops = next(str(text) for name, text in texts if name == "loops")
    return (text for text in loops.split("func.func") if "bf16" in text and "vector.fma" in text)


@pytest.mark.parametrize("channels", [512, 528], ids=["pairs", "a block alone"])
def test_transforms_store_lines(tmp_path: Path, channels: int) -> None:
    """Transforms of Winograd's do so, too, with all rows of the results of both blocks."""
    param = tmp_path / "net.param"
    param.write_text(
        f"7767517\n2 2\nInput in 0 1 in 0=28 1=28 2={channels}\n"
        f"Convolution wide 1 1 in wide 0=512 1=3 4=1 5=1 6={9 * 512 * channels}\n"
    )
    texts = stages(param, None, opt_level=3, target="amx", random_weights=1)
    loops = next(str(text) for name, text in texts if name == "loops")
    [kernel] = {
        text for text in loops.split("func.func") if "arith.subf" in text and "bf16" in text
    }
    stores = [line for line in kernel.splitlines() if "vector.store" in line and "bf16" in line]
    assert len(stores) >= 32 and all("vector<32xbf16>" in line for line in stores)


@pytest.mark.parametrize("channels", [128, 144, 120], ids=["pairs", "a block alone", "half of one"])
def test_lines_are_stored_at_once(tmp_path: Path, channels: int) -> None:
    """So is that of a block alone, with zeros, which are split like anything."""
    [kernel] = kernels(tmp_path, channels)
    stores = [line for line in kernel.splitlines() if "vector.store" in line and "bf16" in line]
    assert stores and all("vector<32xbf16>" in line for line in stores)
    assert "vector<16xbf16>" not in kernel
