"""Normalizations by mean and variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
TYPES = ["LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm", "MVN"]


@pytest.mark.layer(*TYPES)
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def noise(*shape: int) -> Array:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def statistics(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    return x.mean(axes, keepdims=True), x.var(axes, keepdims=True)


@pytest.mark.parametrize(
    ("shape", "size", "axes"),
    [
        ((6,), 6, (0,)),
        ((4, 6), 6, (1,)),
        ((2, 4, 6), 6, (2,)),
        ((2, 4, 6), 24, (1, 2)),
        ((2, 3, 4, 5), 20, (2, 3)),
        ((2, 3, 4, 5), 60, (1, 2, 3)),
    ],
)
def test_the_region_is_told_by_its_size(
    shape: tuple[int, ...], size: int, axes: tuple[int, ...], check_layer: Check
) -> None:
    """LayerNorm and RMSNorm take as many innermost axes as affine_size has cells."""
    x, gamma, beta = noise(*shape), noise(size) + 2, noise(size)
    inner = tuple(shape[axis] for axis in axes)
    mean, variance = statistics(x, axes)
    expected = (x - mean) / np.sqrt(variance + 0.1) * gamma.reshape(inner) + beta.reshape(inner)
    params = {"affine_size": size, "eps": 0.1}
    check_layer("LayerNorm", params, [x], [gamma, beta], expected=[expected])
    power = np.square(x).mean(axes, keepdims=True)
    expected = x / np.sqrt(power + 0.1) * gamma.reshape(inner)
    check_layer("RMSNorm", params, [x], [gamma], expected=[expected])


def test_without_weights_the_widest_region_is_taken(check_layer: Check) -> None:
    """affine_size decides only between regions."""
    x = noise(2, 3, 4)
    mean, variance = statistics(x, (1, 2))
    expected = (x - mean) / np.sqrt(variance + 0.001)
    check_layer("LayerNorm", {"affine": 0, "affine_size": 7}, [x], expected=[expected])


def test_layer_norm_refuses_other_sizes(check_layer: Check) -> None:
    """affine_size must be the size of innermost axes."""
    with pytest.raises(LayerError, match="affine_size 5 is not the size of innermost axes"):
        check_layer("LayerNorm", {"affine_size": 5}, [noise(2, 3, 4)], [noise(5), noise(5)])


@pytest.mark.parametrize("shape", [(6,), (6, 5), (6, 2, 3), (6, 2, 2, 3)])
@pytest.mark.parametrize("group", [1, 2, 3])
def test_groups_are_of_the_outermost_axis(
    shape: tuple[int, ...], group: int, check_layer: Check
) -> None:
    """GroupNorm takes neighbouring channels together, of any rank."""
    x = noise(*shape)
    split = x.reshape(group, -1)
    mean, variance = statistics(split, (1,))
    expected = ((split - mean) / np.sqrt(variance + 0.1)).reshape(shape)
    params = {"group": group, "channels": 6, "eps": 0.1}
    check_layer("GroupNorm", {**params, "affine": 0}, [x], expected=[expected])
    gamma = np.arange(6, dtype=np.float32)
    scaled = expected * gamma.reshape(6, *[1] * (x.ndim - 1)) + 1
    check_layer("GroupNorm", params, [x], [gamma, np.ones(6)], expected=[scaled])


def test_group_norm_refuses(check_layer: Check) -> None:
    """Groups that do not divide, and other channels than the params say."""
    with pytest.raises(LayerError, match="not divisible by group 4"):
        check_layer("GroupNorm", {"group": 4, "channels": 6, "affine": 0}, [noise(6, 2)])
    with pytest.raises(LayerError, match="takes 6 channels"):
        check_layer("GroupNorm", {"channels": 6, "affine": 0}, [noise(5, 2)])


def test_instance_norm_is_of_each_channel(check_layer: Check) -> None:
    """Over its space."""
    x = noise(2, 3, 4)
    mean, variance = statistics(x, (1, 2))
    expected = (x - mean) / np.sqrt(variance + 0.001) * 2
    params = {"channels": 2}
    check_layer("InstanceNorm", params, [x], [np.full(2, 2), np.zeros(2)], expected=[expected])
    with pytest.raises(LayerError, match="takes 3 channels"):
        check_layer("InstanceNorm", {"channels": 3}, [x], [np.ones(3), np.ones(3)])


def test_mvn_adds_eps_to_the_deviation(check_layer: Check) -> None:
    """Not to the variance; a matrix becomes (1, h, w)."""
    x = noise(3, 4)
    mean, variance = statistics(x, (0, 1))
    expected = ((x - mean) / (np.sqrt(variance) + 0.5))[None]
    check_layer("MVN", {"normalize_variance": 1, "eps": 0.5}, [x], expected=[expected])
