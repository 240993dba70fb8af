"""Convolutions, pools, normalizations and activations."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F

from tests.onnx.torch_modules.registry import module, param, rand


@module(rand(2, 8, 6), norm=nn.LayerNorm(6), other=nn.LayerNorm([8, 6], elementwise_affine=False))
def layer_norms(m: Any, x: Any) -> Any:
    return m.norm(x) + m.other(x)


@module(rand(2, 8, 4, 4), norm=nn.GroupNorm(4, 8))
def group_norm(m: Any, x: Any) -> Any:
    return m.norm(x)


@module(rand(2, 4, 5, 5), norm=nn.InstanceNorm2d(4, affine=True), plain=nn.InstanceNorm2d(4))
def instance_norms(m: Any, x: Any) -> Any:
    return m.norm(x), m.plain(x)


@module(rand(2, 5, 8), norm=nn.RMSNorm(8))
def rms_norm(m: Any, x: Any) -> Any:
    return m.norm(x)


@module(rand(2, 5, 8), scale=param(8))
def rms_norm_by_hand(m: Any, x: Any) -> Any:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * m.scale


@module(rand(2, 6, 4, 4), weight=param(6), bias=param(6))
def channel_norm(m: Any, x: Any) -> Any:
    """ConvNeXt's LayerNorm over channels."""
    mean = x.mean(1, keepdim=True)
    variance = (x - mean).pow(2).mean(1, keepdim=True)
    x = (x - mean) / torch.sqrt(variance + 1e-6)
    return m.weight[:, None, None] * x + m.bias[:, None, None]


@module(rand(2, 6, 4, 4), gamma=param(1, 1, 1, 6), beta=param(1, 1, 1, 6))
def global_response_norm(m: Any, x: Any) -> Any:
    x = x.permute(0, 2, 3, 1)
    norm = torch.norm(x, p=2, dim=(1, 2), keepdim=True)
    return m.gamma * (x * (norm / (norm.mean(-1, keepdim=True) + 1e-6))) + m.beta + x


@module(rand(1, 6, 5, 5), norm=nn.LocalResponseNorm(3))
def local_response_norm(m: Any, x: Any) -> Any:
    return m.norm(x)


@module(rand(2, 6), rand(2, 6))
def normalized(m: Any, x: Any, y: Any) -> Any:
    return F.normalize(x, dim=1), F.cosine_similarity(x, y), F.pairwise_distance(x, y)


@module(rand(1, 4, 6, 6), body=nn.Sequential(nn.Conv2d(4, 8, 3, 2), nn.BatchNorm2d(8), nn.SiLU()))
def conv_bn_silu(m: Any, x: Any) -> Any:
    return m.body(x)


@module(rand(2, 4, 9), conv=nn.Conv1d(4, 6, 3, padding=2, dilation=2, groups=2))
def conv1d(m: Any, x: Any) -> Any:
    return m.conv(x)


@module(rand(1, 2, 4, 5, 5), conv=nn.Conv3d(2, 3, 3, padding=1), pool=nn.MaxPool3d(2))
def conv3d(m: Any, x: Any) -> Any:
    return m.pool(m.conv(x))


@module(rand(2, 4, 5, 5), up=nn.ConvTranspose2d(4, 3, 3, 2, 1, output_padding=1))
def transposed(m: Any, x: Any) -> Any:
    return m.up(x)


@module(rand(1, 4, 7), up=nn.ConvTranspose1d(4, 2, 4, 2, groups=2))
def transposed_1d(m: Any, x: Any) -> Any:
    return m.up(x)


@module(rand(1, 6, 7, 7), conv=nn.Conv2d(6, 6, 3, padding="same", padding_mode="reflect", groups=6))
def depthwise_reflected(m: Any, x: Any) -> Any:
    return m.conv(x)


@module(rand(1, 3, 6, 6), rand(4, 3, 3, 3))
def conv_of_inputs(m: Any, x: Any, w: Any) -> Any:
    return F.conv2d(x, w, padding=1)


@module(rand(1, 3, 9, 9))
def pools(m: Any, x: Any) -> Any:
    return (
        F.max_pool2d(x, 3, 2, 1),
        F.max_pool2d(x, 2, ceil_mode=True),
        F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
        F.avg_pool2d(x, 2, ceil_mode=True),
        F.lp_pool2d(x.abs(), 2, 3),
    )


@module(rand(2, 3, 8, 6))
def adaptive_pools(m: Any, x: Any) -> Any:
    return (
        F.adaptive_avg_pool2d(x, 1),
        F.adaptive_avg_pool2d(x, (4, 3)),
        F.adaptive_max_pool2d(x, 1),
    )


@module(rand(2, 3, 7, 5))
def uneven_adaptive_pool(m: Any, x: Any) -> Any:
    return F.adaptive_avg_pool2d(x, (3, 2))


@module(rand(1, 2, 6, 6))
def pool_with_places(m: Any, x: Any) -> Any:
    return F.max_pool2d(x, 2, return_indices=True)


@module(rand(1, 2, 6, 6))
def unpool(m: Any, x: Any) -> Any:
    small, places = F.max_pool2d(x, 2, return_indices=True)
    return F.max_unpool2d(small, places, 2)


@module(rand(3, 8))
def activations(m: Any, x: Any) -> Any:
    kinds = (F.elu, F.selu, F.celu, F.gelu, F.silu, F.mish, F.softplus, F.softsign, F.hardswish)
    more = (F.hardsigmoid, F.leaky_relu, F.relu6, F.logsigmoid, F.tanhshrink, F.hardtanh)
    return torch.stack([f(x) for f in kinds + more])


@module(rand(3, 8))
def more_activations(m: Any, x: Any) -> Any:
    return (
        F.gelu(x, approximate="tanh"),
        F.threshold(x, 0.1, 20.0),
        F.softshrink(x, 0.3),
        F.hardshrink(x, 0.3),
        F.glu(x),
    )


@module(rand(2, 6, 4, 4), prelu=nn.PReLU(6), one=nn.PReLU())
def prelus(m: Any, x: Any) -> Any:
    return m.prelu(x) + m.one(x)


@module(rand(2, 8), gate=nn.Linear(8, 16), down=nn.Linear(16, 8), up=nn.Linear(8, 16))
def swiglu(m: Any, x: Any) -> Any:
    return m.down(F.silu(m.gate(x)) * m.up(x))


@module(
    rand(1, 8, 6, 6),
    pool=nn.AdaptiveAvgPool2d(1),
    squeeze=nn.Sequential(nn.Conv2d(8, 2, 1), nn.ReLU(), nn.Conv2d(2, 8, 1)),
)
def squeeze_excite(m: Any, x: Any) -> Any:
    return x * torch.sigmoid(m.squeeze(m.pool(x)))


@module(rand(2, 3, 4), rand(2, 5), mix=nn.Bilinear(4, 4, 3))
def bilinear(m: Any, x: Any, y: Any) -> Any:
    return m.mix(x[:, 0], y[:, :4])


@module(rand(2, 6), y=torch.tensor([1, 4]))
def losses(m: Any, x: Any) -> Any:
    return F.cross_entropy(x, m.y), F.mse_loss(x, x * 0.5), F.smooth_l1_loss(x, x * 2)


@module(rand(1, 4, 8, 8), drop=nn.Dropout(0.3), flat=nn.Flatten(), head=nn.LazyLinear(5))
def classifier(m: Any, x: Any) -> Any:
    return m.head(m.drop(m.flat(F.max_pool2d(x, 2))))
