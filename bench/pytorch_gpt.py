"""A small GPT in PyTorch, of the size with which nanoGPT trains on a CPU: 0.8 M parameters; others by arguments."""
import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, WIDTH, BLOCK, BATCH, LETTERS = 4, 4, 128, 64, 12, 65


class Layer(nn.Module):
    """Attention to earlier letters, then two dense layers; both are added to their input."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_dense = nn.LayerNorm(width, bias=False), nn.LayerNorm(width, bias=False)
        self.to_attention, self.of_attention = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.widen, self.narrow = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        parts = self.to_attention(self.norm_attention(x)).chunk(3, dim=-1)
        heads = [part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts]
        attended = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.of_attention(attended.transpose(1, 2).flatten(-2))
        return x + self.narrow(F.gelu(self.widen(self.norm_dense(x))))


class Gpt(nn.Module):
    """Predicts the next letter after each letter of a text. The table of letters is also the last layer's weight."""

    def __init__(self, layers=LAYERS, heads=HEADS, width=WIDTH):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, width), nn.Embedding(BLOCK, width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.last = nn.LayerNorm(width, bias=False), nn.Linear(width, LETTERS, bias=False)
        nn.init.normal_(self.letters.weight, std=0.02)
        self.last.weight = self.letters.weight

    def forward(self, texts):
        return self.last(self.norm(self.layers(self.letters(texts) + self.places.weight[:texts.shape[1]])))


def loss_of(model, texts):
    """The mean loss over all letters but the first of each text."""
    return F.cross_entropy(model(texts[:, :-1]).flatten(0, 1), texts[:, 1:].flatten())


def make_texts(seed):
    return torch.randint(LETTERS, (BATCH, BLOCK + 1), generator=torch.Generator().manual_seed(seed))
