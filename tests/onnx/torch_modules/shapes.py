"""Elements in another order: reshapes of rank 5 and 6, slices, rolls, shuffles, pads."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.onnx.torch_modules.registry import module, rand


@module(rand(2, 12, 4, 6))
def space_to_depth(m: Any, x: Any) -> Any:
    """b c (h 2) (w 2) -> b (c 2 2) h w."""
    b, c, h, w = x.shape
    return (
        x.view(b, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4).reshape(b, -1, h // 2, w // 2)
    )


@module(rand(1, 8, 8, 3))
def windows(m: Any, x: Any) -> Any:
    return x.view(1, 2, 4, 2, 4, 3).permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, 4, 4, 3)


@module(rand(2, 3, 4, 5, 2))
def five_axes(m: Any, x: Any) -> Any:
    return x.permute(4, 2, 0, 3, 1).reshape(8, 10, 3).sum(1)


@module(rand(1, 2, 3, 2, 2, 4))
def six_axes(m: Any, x: Any) -> Any:
    return (x.permute(0, 5, 3, 1, 4, 2) * 2).flatten(2, 4).movedim(3, 1)


@module(rand(1, 8, 4, 4))
def channel_shuffle(m: Any, x: Any) -> Any:
    return x.view(1, 2, 4, 4, 4).transpose(1, 2).reshape(1, 8, 4, 4)


@module(rand(1, 12, 4, 5), shuffle=nn.PixelShuffle(2))
def pixel_shuffle(m: Any, x: Any) -> Any:
    return m.shuffle(x)


@module(rand(2, 3, 4, 6))
def pixel_unshuffle(m: Any, x: Any) -> Any:
    return F.pixel_unshuffle(x, 2)


@module(rand(1, 8, 4, 4), shuffle=nn.ChannelShuffle(4))
def shuffle_module(m: Any, x: Any) -> Any:
    return m.shuffle(x)


@module(rand(1, 3, 8, 8))
def focus(m: Any, x: Any) -> Any:
    """The first layer of YOLOv5: every second pixel, four times."""
    parts = [x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]]
    return torch.cat(parts, 1)


@module(rand(2, 9, 10))
def slices_with_steps(m: Any, x: Any) -> Any:
    return x[:, 1:8:3, -7::2] + x[:, :3, 4:9:3][..., :1]


@module(rand(2, 3, 5))
def flips(m: Any, x: Any) -> Any:
    return x.flip(1, 2) + x.flip(-1)


@module(rand(3, 6, 5))
def rolls(m: Any, x: Any) -> Any:
    return torch.roll(x, 2, 1) - torch.roll(x, (-1, 3), (0, 2))


@module(rand(2, 7, 3))
def parts(m: Any, x: Any) -> Any:
    a, b, c = x.split([2, 4, 1], 1)
    return torch.cat([c, a, b.mean(1, keepdim=True)], 1), b.unbind(-1)[1]


@module(rand(3, 4), rand(3, 4))
def stacks(m: Any, x: Any, y: Any) -> Any:
    return torch.stack([x, y, x * y], 1).unsqueeze(0).repeat(2, 1, 1, 2)


@module(rand(2, 4))
def repeats(m: Any, x: Any) -> Any:
    return x.repeat_interleave(3, 1), x[:, None].expand(-1, 3, -1).tile(1, 2, 1)


@module(rand(1, 2, 5, 6))
def pads(m: Any, x: Any) -> Any:
    around = (1, 2, 2, 1)
    return (
        F.pad(x, around, value=0.5),
        F.pad(x, around, mode="reflect"),
        F.pad(x, around, mode="replicate"),
        F.pad(x, around, mode="circular"),
        F.pad(x, (-1, 1, 0, -2)),
    )


@module(rand(1, 2, 6, 6))
def unfold(m: Any, x: Any) -> Any:
    return F.unfold(x, 3, padding=1, stride=2)


@module(rand(1, 8, 9))
def fold(m: Any, x: Any) -> Any:
    return F.fold(x, (6, 6), 2, stride=2)


@module(rand(2, 10))
def sliding(m: Any, x: Any) -> Any:
    return x.unfold(1, 4, 2).mean(-1)


@module(rand(3, 5, 5))
def triangles(m: Any, x: Any) -> Any:
    return torch.tril(x) + torch.triu(x, 1) * 2, torch.triu(x[0, :3], -1)


@module(rand(4, 4))
def diagonals(m: Any, x: Any) -> Any:
    return torch.diagonal(x), torch.diag_embed(x), torch.eye(4) * x


@module(rand(3), rand(4))
def grids(m: Any, x: Any, y: Any) -> Any:
    a, b = torch.meshgrid(x, y, indexing="ij")
    return torch.stack([a, b], -1), torch.cartesian_prod(x, y)


@module(rand(2, 3, 4))
def squeezes(m: Any, x: Any) -> Any:
    return x[:, :1].squeeze(1), x[None, ..., None], x.swapaxes(0, 2), x.narrow(2, 1, 2)


@module(rand(1, 4, 4, 6), rand(1, 2, 8, 12))
def crops(m: Any, x: Any, y: Any) -> Any:
    return torch.cat([x, y[:, :, 2 : 2 + x.shape[2], 3 : 3 + x.shape[3]]], 1)
