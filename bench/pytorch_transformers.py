"""The transformers of eave's zoo in PyTorch, as people write them: GPT-2's blocks with one linear layer for queries, keys
and values, an output that shares the table of tokens, and dropout where nanoGPT has it.

ATTENTION sdpa   F.scaled_dot_product_attention
          plain  the product with a mask, softmax and the product with the values
"""
import dataclasses

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Shape:
    layers: int
    heads: int
    width: int
    context: int
    vocabulary: int
    bias: bool
    gelu: str  # of F.gelu's approximations
    dropout: float
    attention_dropout: float


SHAPES = {  # as bench/trainee.cpp gives them to eave
    "nanogpt-cpu": Shape(4, 4, 128, 64, 65, False, "none", 0.0, 0.0),
    "nanogpt-char": Shape(6, 6, 384, 256, 65, False, "none", 0.2, 0.2),
    "gpt2": Shape(12, 12, 768, 256, 50257, True, "tanh", 0.0, 0.0),
}


class Attention(nn.Module):
    def __init__(self, shape, kind):
        super().__init__()
        self.shape, self.kind = shape, kind
        self.to_heads = nn.Linear(shape.width, 3 * shape.width, bias=shape.bias)
        self.of_heads = nn.Linear(shape.width, shape.width, bias=shape.bias)
        self.dropout = nn.Dropout(shape.dropout)
        mask = torch.ones(shape.context, shape.context).tril().view(1, 1, shape.context, shape.context)
        self.register_buffer("mask", mask if kind == "plain" else None)

    def attend(self, q, k, v):
        rate = self.shape.attention_dropout if self.training else 0.0
        if self.kind == "sdpa":
            return F.scaled_dot_product_attention(q, k, v, dropout_p=rate, is_causal=True)
        scores = q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5
        positions = q.size(-2)
        scores = scores.masked_fill(self.mask[..., :positions, :positions] == 0, float("-inf"))
        return F.dropout(F.softmax(scores, dim=-1), rate) @ v

    def forward(self, x):
        samples, positions, width = x.shape
        heads = (part.view(samples, positions, self.shape.heads, -1).transpose(1, 2)
                 for part in self.to_heads(x).split(width, dim=2))
        y = self.attend(*heads).transpose(1, 2).contiguous().view(samples, positions, width)
        return self.dropout(self.of_heads(y))


class Block(nn.Module):
    def __init__(self, shape, kind):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(shape.width, bias=shape.bias) for _ in range(2))
        self.attention = Attention(shape, kind)
        self.dense = nn.Sequential(
            nn.Linear(shape.width, 4 * shape.width, bias=shape.bias), nn.GELU(shape.gelu),
            nn.Linear(4 * shape.width, shape.width, bias=shape.bias), nn.Dropout(shape.dropout))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.dense(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, shape, kind):
        super().__init__()
        self.tokens, self.places = nn.Embedding(shape.vocabulary, shape.width), nn.Embedding(shape.context, shape.width)
        self.dropout = nn.Dropout(shape.dropout)
        self.blocks = nn.Sequential(*(Block(shape, kind) for _ in range(shape.layers)))
        self.norm = nn.LayerNorm(shape.width, bias=shape.bias)
        self.last = nn.Linear(shape.width, shape.vocabulary, bias=False)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)
        self.last.weight = self.tokens.weight

    def forward(self, tokens):
        places = torch.arange(tokens.shape[1])
        x = self.dropout(self.tokens(tokens) + self.places(places))
        return self.last(self.norm(self.blocks(x))).flatten(0, 1)


def make_optimizer(model, flags):
    return torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.999), weight_decay=0.1, **flags)


def make_batch(name, batch):
    shape = SHAPES[name]
    tokens, labels = (torch.randint(0, shape.vocabulary, (batch, shape.context)) for _ in range(2))
    return tokens, labels.flatten()
