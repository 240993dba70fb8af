"""Arithmetic of several types, reductions, products."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.onnx.torch_modules.registry import module, rand


@module(rand(3, 4), rand(4))
def broadcasts(m: Any, x: Any, y: Any) -> Any:
    return x * y - y / (x.abs() + 1), torch.maximum(x, y), torch.clamp(x, y - 1, y + 1)


@module(torch.randint(-9, 9, (3, 4)), torch.randint(1, 5, (4,)))
def integers(m: Any, x: Any, y: Any) -> Any:
    return x // y, x % y, torch.fmod(x, y), x.remainder(3), (x << 1) ^ y, x.float() / y


@module(rand(3, 4) * 3)
def rounds(m: Any, x: Any) -> Any:
    return x.floor(), x.ceil(), x.round(), x.trunc(), x.frac(), torch.fmod(x, 1.5), x % 1.5


@module(rand(3, 4).abs() + 0.1)
def functions(m: Any, x: Any) -> Any:
    return (
        torch.log(x) + torch.log2(x) + torch.log10(x) + torch.log1p(x),
        torch.exp2(x) + torch.expm1(x) + torch.pow(x, 1.7) + 2**x,
        torch.erf(x) + torch.rsqrt(x) + torch.reciprocal(x) + torch.sigmoid(x),
        torch.sin(x) + torch.atan(x) + torch.sinh(x) + torch.asinh(x) + torch.atan2(x, x.flip(0)),
    )


@module(torch.tensor([[1.0, float("nan"), float("inf")], [-2.0, 0.0, float("-inf")]]))
def odd_numbers(m: Any, x: Any) -> Any:
    clean = torch.nan_to_num(x, 0.5, 9.0, -9.0)
    return torch.isnan(x), torch.isinf(x), torch.isfinite(x), clean


@module(rand(2, 3, 4))
def folds(m: Any, x: Any) -> Any:
    return x.sum((0, 2)), x.mean(), x.std(1), x.var(2, unbiased=False), x.prod(1), x.norm(dim=1)


@module(rand(2, 3, 4))
def more_folds(m: Any, x: Any) -> Any:
    return x.abs().sum(0), torch.norm(x, 1, 2), torch.logsumexp(x, (1, 2)), (x > 0).float().mean(0)


@module(rand(2, 3, 4), rand(2, 4, 5), rand(4))
def products(m: Any, x: Any, y: Any, z: Any) -> Any:
    return x @ y, x @ z, torch.baddbmm(z[0], x, y), torch.outer(z, z), torch.dot(z, z)


@module(rand(3, 4), rand(4, 5), rand(5, 3))
def sums_of_products(m: Any, x: Any, y: Any, z: Any) -> Any:
    return (
        torch.einsum("ij,jk,kl->il", x, y, z),
        torch.einsum("ij,jk->", x, y),
        torch.einsum("...j,jk->...k", x[None], y),
        torch.einsum("ii->i", x[:, :3] @ x[:, :3].T),
    )


@module(rand(2, 6).half(), rand(2, 6))
def halves(m: Any, x: Any, y: Any) -> Any:
    return x * 2 + y.half(), (x.float() + y).to(torch.bfloat16).float(), x.double() + 1


@module(rand(2, 3), torch.tensor([True, False, True]), torch.tensor(3))
def scalars(m: Any, x: Any, flags: Any, n: Any) -> Any:
    return x * n, flags.float() + n, ~flags, torch.where(flags, n, 0), x.new_full((2,), 1.5) + n


@module(rand(2, 3, 8, 8))
def spectrum(m: Any, x: Any) -> Any:
    found = torch.fft.rfft(x, dim=-1)
    return found.real, found.abs()


@module(rand(1, 64))
def spectrogram(m: Any, x: Any) -> Any:
    window = torch.hann_window(16)
    return torch.stft(x, 16, 8, window=window, return_complex=True).abs()


@module(rand(2, 4), experts=nn.ModuleList(nn.Linear(4, 4) for _ in range(3)), gate=nn.Linear(4, 3))
def mixture(m: Any, x: Any) -> Any:
    weights, chosen = m.gate(x).softmax(-1).topk(2)
    made = torch.stack([expert(x) for expert in m.experts], 1)
    taken = made.gather(1, chosen[..., None].expand(-1, -1, 4))
    return (weights[..., None] * taken).sum(1)


@module(rand(2, 4, 4))
def gram(m: Any, x: Any) -> Any:
    flat = x.flatten(1)
    return flat @ flat.T / flat.shape[1], torch.trace(x[0])


@module(rand(2, 5), torch.tensor(0.3))
def conditions(m: Any, x: Any, limit: Any) -> Any:
    return torch.cond(x.mean() > limit, lambda x: x * 2, lambda x: x - 1, (x,))
