"""Networks of the package transformers, of two small layers each. Without the package there are
none.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from torch import nn

from tests.onnx.torch_modules import vision as vision  # without it torchvision does not load
from tests.onnx.torch_modules.registry import CASES, Case, rand

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
TEXT = {**SIZES, "vocab_size": 50, "max_position_embeddings": 64}
DECODER = {**TEXT, "num_key_value_heads": 2, "use_cache": False}
PICTURE = {**SIZES, "image_size": 32, "patch_size": 8}
SOUND = {
    **SIZES,
    "conv_dim": (16, 16, 16),
    "conv_stride": (5, 2, 2),
    "conv_kernel": (10, 3, 3),
    "num_conv_pos_embeddings": 8,
    "num_conv_pos_embedding_groups": 4,
}
TWO_STACKS = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 64,
    "decoder_ffn_dim": 64,
    "vocab_size": 50,
    "use_cache": False,
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 0,
    "decoder_start_token_id": 0,
}


class Chosen(nn.Module):  # type: ignore[misc]  # torch is no dependency, so this is Any
    """A network that is called by position, and one of its results."""

    def __init__(self, network: Any, result: str, names: tuple[str, ...]) -> None:
        super().__init__()
        self.network, self.result, self.names = network, result, names

    def forward(self, *inputs: Any) -> Any:
        named = dict(zip(self.names, inputs, strict=True))
        return getattr(self.network(**named, return_dict=True), self.result)


def words(count: int) -> Any:
    """The numbers of some words."""
    return torch.randint(0, 50, (1, count))


def add(kind: str, task: str, result: str, inputs: dict[str, Any], **sizes: Any) -> None:
    """Register a network of a kind with random weights."""
    import transformers

    made = getattr(transformers, f"{kind}{task}")(getattr(transformers, f"{kind}Config")(**sizes))
    name, module = f"tiny_{kind.lower()}", Chosen(made, result, tuple(inputs))
    CASES[name] = Case(name, module.eval(), tuple(inputs.values()))


def add_all() -> None:
    """Of texts, pictures and sounds."""
    mask = torch.ones(1, 7, dtype=torch.int64)
    text = {"input_ids": words(7), "attention_mask": mask}
    picture = {"pixel_values": rand(1, 3, 32, 32)}
    for kind in ("Bert", "Electra", "MPNet"):
        add(kind, "Model", "last_hidden_state", text, **TEXT)
    for kind in ("Llama", "Qwen3", "GPTNeoX"):
        add(kind, "ForCausalLM", "logits", text, **DECODER)
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 50, "n_positions": 64}
    ends = {"bos_token_id": 0, "eos_token_id": 0, "use_cache": False}
    add("GPT2", "LMHeadModel", "logits", {"input_ids": words(7)}, **sizes, **ends)
    add("SiglipVision", "Model", "pooler_output", picture, **PICTURE)
    add("Dinov2", "Model", "last_hidden_state", picture, **PICTURE)
    add("Wav2Vec2", "Model", "last_hidden_state", {"input_values": rand(1, 800)}, **SOUND)
    heard = {"input_features": rand(1, 16, 40), "decoder_input_ids": words(3)}
    sizes = {"num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 16}
    more = {"suppress_tokens": None, "begin_suppress_tokens": None}
    add("Whisper", "ForConditionalGeneration", "logits", heard, **TWO_STACKS, **sizes, **more)


if find_spec("transformers"):
    add_all()
