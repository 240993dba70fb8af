"""From PyTorch to machine code: export a module as .onnx, compile it, compare it with torch.

pip install torch onnxscript 'ncnn-compiler[onnx]'
python examples/pytorch/export_and_compile.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn

import ncc


class Classifier(nn.Module):  # type: ignore[misc]  # torch need not be installed to check types
    """Patches of an image, one layer of attention over them, and scores of ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 32, kernel_size=8, stride=8)
        self.mix = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
        self.head = nn.Linear(32, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        rows = self.patches(image).flatten(2).transpose(1, 2)
        return self.head(self.mix(rows).mean(1)).softmax(-1)


def main() -> None:
    torch.manual_seed(0)
    module = Classifier().eval()
    image = torch.randn(1, 3, 64, 64)

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        # Names are those that you will feed and read.
        path = Path(folder, "net.onnx")
        names = {"input_names": ["image"], "output_names": ["scores"]}
        torch.onnx.export(module, (image,), path, verbose=False, **names)

        # Shapes and types are those of torch, with the batch axis.
        model = ncc.compile(path)
        for blob in (*model.inputs, *model.outputs):
            print(f"{blob.name}: {blob.dtype} {blob.shape}")

        scores = model(image.numpy())
        apart = np.abs(scores - module(image).numpy()).max()
        print(f"the largest difference to torch: {apart:.0e}")


if __name__ == "__main__":
    main()
