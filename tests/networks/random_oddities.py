"""Random networks whose layers have params that few files have.

    network = odd_network(seed)

Every layer that grows may have other params first: any that its class declares, axes from the end,
windows that differ side by side. Where they do not fit, the layer grows as it was asked for.
Weights may stand in the .bin as float16, or as places in a table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import numpy as np

from ncc.dialects.ncnn.layer import LAYERS, Array, Param, ParamValue
from tests.networks.random_growth import Growth, Params, Rejected
from tests.networks.random_network import RandomNetwork, random_network

KEPT = {
    *("weight_data_size", "num_output", "group", "dynamic_weight", "int8_scale_term"),
    *("equation", "type_from", "type_to", "quantize_term", "feature_mask", "winlen", "n_fft"),
}
"""Params that say how many weights there are, or of which types."""

TAG_FLOAT16 = (0x01306B47).to_bytes(4, "little")
TAG_TABLE = (1).to_bytes(4, "little")

KERNELS = ["kernel_w", "kernel_h", "kernel_d"]
SIDES = ["pad_left", "pad_right", "pad_top", "pad_bottom", "pad_front", "pad_behind"]
SMALL = [0, 0, 1, 1, 2, 3, 4, 5, -1, -2, 7]


def odd_network(seed: int) -> RandomNetwork:
    """The network of a seed."""
    return random_network(seed, OddGrowth)


class OddGrowth(Growth):
    """A network with odd params and stored weights."""

    def input(self, rank: int) -> str:
        """Now and then of more elements."""
        if rank != 3 or self.most_elements < 20_000 or self.chance(0.3):
            return super().input(rank)
        channels = self.pick([1, 3, 5, 8, 16, 17, 24, 32])
        shape = channels, self.pick([1, 2, self.number(3, 30)]), self.number(1, 30)
        return self.fed(self.random(shape))

    def add(
        self,
        type: str,
        inputs: Sequence[str],
        params: Params,
        outputs: int = 1,
        fill: Mapping[str, Array] | None = None,
        value: Array | None = None,
    ) -> tuple[str, ...]:
        if type not in ("Input", "MemoryData") and self.chance(0.5):
            try:
                return super().add(type, inputs, self.odd(type, params), outputs, fill, value)
            except Rejected:
                pass
        return super().add(type, inputs, params, outputs, fill, value)

    def odd(self, type: str, params: Params) -> Params:
        """Some params changed or said."""
        declared = LAYERS[type].LAYER.params
        changed = dict(params)
        if "kernel_w" in declared and "weight_data_size" in declared and self.chance(0.8):
            return self.window(declared, changed)
        free = [key for key, one in declared.items() if key not in KEPT and one.kind != "string"]
        for _ in range(self.number(1, 3) if free else 0):
            name = self.pick(free)
            changed[name] = self.param(declared[name], changed.get(name))
        return changed

    def param(self, param: Param[ParamValue], before: ParamValue | None) -> ParamValue:
        """Another value of a param."""
        if param.kind == "int":
            if isinstance(before, int) and param.name == "axis" and self.chance(0.5):
                return before - self.number(1, 4)
            return self.pick(SMALL)
        if param.kind == "float":
            # Of a negative slope, ncnn's own versions of HardSwish disagree.
            return self.pick([0.5, 1.0] if param.name == "alpha" else [0.0, -1.0, 0.5, self.real()])
        if param.kind == "ints":
            if isinstance(before, tuple) and before and self.chance(0.5):
                return tuple(int(n) - self.pick([0, 1, 2, 3, 4]) for n in before)
            return tuple(self.pick(SMALL) for _ in range(self.number(0, 3)))
        if param.kind == "floats":
            return tuple(self.real() for _ in range(self.number(0, 3)))
        return before if before is not None else ""

    def window(
        self, declared: Mapping[str, Param[ParamValue]], params: dict[str, ParamValue]
    ) -> Params:
        """Kernels, strides, dilations and pads of a convolution, all by themselves."""
        axes = [name for name in KERNELS if name in declared]
        before = _whole(params.get("kernel_w", 1)) ** len(axes)
        for name in axes:
            params[name] = self.pick([1, 1, 2, 3, 3, 4, 5, 7])
        after = prod(_whole(params[name]) for name in axes)
        if params.get("weight_data_size"):
            params["weight_data_size"] = _whole(params["weight_data_size"]) // before * after
        for name in declared:
            if name.startswith(("stride", "dilation")) and self.chance(0.5):
                params[name] = self.pick([1, 1, 2, 3])
            elif name in SIDES and self.chance(0.5):
                params[name] = self.pick([0, 1, 2, 3, 5])
            elif name.startswith("output_pad") and self.chance(0.2):
                params[name] = self.number(0, 1)
        if self.chance(0.1):
            params["pad_left"] = self.pick([-233, -234])
        if "pad_value" in declared and self.chance(0.1):
            params["pad_value"] = self.real()
        return params

    def weight(self, key: str, shape: Sequence[int]) -> Array:
        """Weights that are float16 or one of a few, now and then."""
        weight = super().weight(key, shape)
        if key != "var" and self.chance(0.15):
            weight = np.round(weight * 16) / np.float32(16)
        return weight.astype(np.float16).astype(np.float32) if self.chance(0.3) else weight

    def stored(self, array: Array, tagged: bool) -> bytes:
        if not tagged or array.dtype != np.float32:
            return super().stored(array, tagged)
        halves = array.astype(np.float16)
        if np.array_equal(halves, array) and self.chance(0.7):
            return TAG_FLOAT16 + _filled(halves.tobytes())
        table, places = np.unique(array, return_inverse=True)
        if table.size <= 256 and self.chance(0.5):
            spare = np.zeros(256 - table.size, np.float32)
            table = np.concatenate([table, spare])
            return TAG_TABLE + table.tobytes() + _filled(places.astype(np.uint8).tobytes())
        return super().stored(array, tagged)


def _filled(data: bytes) -> bytes:
    """Filled up to whole words."""
    return data + bytes(-len(data) % 4)


def _whole(value: ParamValue | None) -> int:
    assert isinstance(value, int)
    return value
