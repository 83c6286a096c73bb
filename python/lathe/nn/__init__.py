"""Networks are made of modules: trees of layers with named parameters, which append themselves to a `lathe.Network`.
Parameters take their weights from a checkpoint or one by one; their names, shapes and layouts are PyTorch's.

    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden, self.out = nn.Linear(16, 32), nn.Linear(32, 4)

        def forward(self, x):
            return self.out(nn.relu(self.hidden(x)))

    c = Classifier()
    c.bind("model.safetensors")
    network = nn.build_network(c, {"x": ("float32", ("N", 16))}, outputs=["y"])

docs/guide/modules.md shows how.
"""

from lathe.nn._attention import (
    Attention,
    Rope,
    alibi_bias,
    attend,
    attention_mask,
    merge_heads,
    relative_bias,
    split_heads,
)
from lathe.nn._layers import (
    Activation,
    AvgPool,
    BatchNorm,
    Cast,
    Conv1d,
    Conv2d,
    Conv3d,
    ConvTranspose2d,
    Embedding,
    GatedMlp,
    GlobalAvgPool,
    GroupNorm,
    Gru,
    LayerNorm,
    Linear,
    Lora,
    Lstm,
    MaxPool,
    Mlp,
    RmsNorm,
    activate,
    gelu,
    relu,
    sigmoid,
    silu,
    tanh,
)
from lathe.nn._model import Emission, Model, ModelRegistry, build_network
from lathe.nn._module import CLASSES as _CLASSES, Module, Parameter

_CLASSES.update(
    (c.__name__, c)
    for c in (
        Activation, Attention, AvgPool, BatchNorm, Cast, Conv1d, Conv2d, Conv3d, ConvTranspose2d, Embedding, GatedMlp,
        GlobalAvgPool, GroupNorm, Gru, LayerNorm, Linear, Lora, Lstm, MaxPool, Mlp, Model, RmsNorm, Rope,
    )
)  # fmt: skip

__all__ = [
    "Activation",
    "Attention",
    "AvgPool",
    "BatchNorm",
    "Cast",
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose2d",
    "Embedding",
    "GatedMlp",
    "GlobalAvgPool",
    "GroupNorm",
    "Gru",
    "LayerNorm",
    "Linear",
    "Lora",
    "Lstm",
    "MaxPool",
    "Mlp",
    "Model",
    "RmsNorm",
    "Rope",
    "Emission",
    "ModelRegistry",
    "Module",
    "Parameter",
    "activate",
    "alibi_bias",
    "attend",
    "attention_mask",
    "build_network",
    "gelu",
    "merge_heads",
    "relative_bias",
    "relu",
    "sigmoid",
    "silu",
    "split_heads",
    "tanh",
]
