"""Networks of torchvision with random weights, and small ones of other kinds, as .onnx files."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.onnx.torch_modules import vision as vision  # without it torchvision does not load

SIZES: Mapping[str, int] = {
    "resnet18": 64,
    "resnet50": 64,
    "resnext50_32x4d": 64,
    "wide_resnet50_2": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "mobilenet_v3_large": 64,
    "mnasnet0_5": 64,
    "efficientnet_b0": 64,
    "efficientnet_v2_s": 64,
    "convnext_tiny": 64,
    "shufflenet_v2_x0_5": 64,
    "densenet121": 64,
    "googlenet": 64,
    "inception_v3": 96,
    "squeezenet1_0": 64,
    "squeezenet1_1": 64,
    "regnet_y_400mf": 64,
    "vgg11_bn": 64,
    "alexnet": 96,
    "vit_b_16": 224,
    "swin_t": 64,
    "swin_v2_t": 64,
    "maxvit_t": 224,
}
"""Classifiers of torchvision, and the side of the image that they are exported with."""

SEGMENTERS = ("lraspp_mobilenet_v3_large", "deeplabv3_mobilenet_v3_large", "fcn_resnet50")


def _block(inputs: int, outputs: int) -> nn.Sequential:
    layers = nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.SiLU()
    return nn.Sequential(*layers)


class Unet(nn.Module):  # type: ignore[misc]  # torch is no dependency, so this is Any
    """Two levels, with a transposed convolution and a resize."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.three = _block(3, 8), _block(8, 16), _block(16, 16)
        self.up = nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1, output_padding=1)
        self.larger = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
        self.last, self.end = _block(32, 8), nn.Conv2d(16, 2, 1)

    def forward(self, x: Any) -> Any:
        one = self.one(x)
        two = self.two(nn.functional.max_pool2d(one, 2))
        up = self.up(self.three(nn.functional.avg_pool2d(two, 2)))
        last = self.last(torch.cat([up, two], 1))
        return torch.sigmoid(self.end(torch.cat([self.larger(last), one], 1)))


class Upscaler(nn.Module):  # type: ignore[misc]
    """Residual blocks, a pixel shuffle, and the image itself, larger."""

    def __init__(self) -> None:
        super().__init__()
        self.head, self.body = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, padding=1)
        self.act, self.tail = nn.PReLU(16), nn.Conv2d(16, 12, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x: Any) -> Any:
        y = self.act(self.head(x))
        y = self.tail(y + 0.2 * self.body(y))
        return self.shuffle(y) + nn.functional.interpolate(x, scale_factor=2, mode="nearest")


class Yolo(nn.Module):  # type: ignore[misc]
    """A focus, a pyramid, and a decoded head of two scales."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down = _block(12, 16), nn.Conv2d(16, 32, 3, 2, 1)
        self.pool, self.mix = nn.MaxPool2d(5, 1, 2), _block(64, 32)
        self.merge = _block(48, 16)
        self.heads = nn.ModuleList([nn.Conv2d(16, 3 * 7, 1), nn.Conv2d(32, 3 * 7, 1)])

    def forward(self, x: Any) -> Any:
        parts = [x[..., i::2, j::2] for j in (0, 1) for i in (0, 1)]
        fine = self.stem(torch.cat(parts, 1))
        coarse = nn.functional.silu(self.down(fine))
        coarse = self.mix(torch.cat([coarse, self.pool(coarse)], 1))
        up = nn.functional.interpolate(coarse, scale_factor=2, mode="nearest")
        fine = self.merge(torch.cat([up, fine], 1))
        return torch.cat([self._rows(y, k) for k, y in enumerate((fine, coarse))], 1)

    def _rows(self, x: Any, k: int) -> Any:
        y = self.heads[k](x)
        b, _, h, w = y.shape
        y = y.view(b, 3, 7, h, w).permute(0, 1, 3, 4, 2).sigmoid()
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack([xs, ys], -1).view(1, 1, h, w, 2).float()
        stride = 2.0 ** (k + 1)
        centre = (y[..., :2] * 2 - 0.5 + grid) * stride
        size = (y[..., 2:4] * 2) ** 2 * torch.tensor([3.0, 5.0])
        return torch.cat([centre, size, y[..., 4:]], -1).view(b, -1, 7)


OWN: Mapping[str, tuple[type[Any], int]] = {
    "unet": (Unet, 32),
    "upscaler": (Upscaler, 20),
    "yolo": (Yolo, 32),
}

NAMES = (*SIZES, *SEGMENTERS, *OWN)


def _module(name: str) -> tuple[Any, int]:
    import torchvision

    if name in OWN:
        kind, side = OWN[name]
        return kind(), side
    if name in SEGMENTERS:
        made = getattr(torchvision.models.segmentation, name)
        return made(weights=None, weights_backbone=None), 64
    more = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return getattr(torchvision.models, name)(weights=None, **more), SIZES[name]


def side_of(name: str) -> int:
    """The side of the image that a network is exported with."""
    return OWN[name][1] if name in OWN else SIZES.get(name, 64)


def exported(name: str, exporter: str, folder: Path, sides_open: bool = False) -> Path:
    """The file of a network, its height and width open if asked for."""
    path = folder / f"{name}.{exporter}{'.open' if sides_open else ''}.onnx"
    if path.exists():
        return path
    torch.manual_seed(0)
    module, side = _module(name)
    _spread(module)
    x = torch.randn(1, 3, side, side)
    axes = {"x": {2: "height", 3: "width"}} if sides_open else None
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    logging.disable(logging.WARNING)
    with warnings.catch_warnings(), silent[0], silent[1]:
        warnings.simplefilter("ignore")
        folder.mkdir(parents=True, exist_ok=True)
        torch.onnx.export(
            module.eval(),
            (x,),
            str(path),
            input_names=["x"],
            dynamo=exporter == "dynamo",
            dynamic_axes=axes,
            external_data=False,
        )
    logging.disable(logging.NOTSET)
    return path


def _spread(module: Any) -> None:
    """Statistics and factors of normalizations that are not those of new layers."""
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            nn.init.uniform_(part.weight, 0.8, 1.2)
            nn.init.normal_(part.bias, 0, 0.1)
            nn.init.normal_(part.running_mean, 0, 0.1)
            nn.init.uniform_(part.running_var, 0.8, 1.2)
