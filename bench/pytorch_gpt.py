"""A small GPT in PyTorch, of the size with which nanoGPT trains on a CPU: 0.8 M parameters."""
import torch
from torch import nn
from torch.nn import functional as F

LAYERS, HEADS, WIDTH, BLOCK, BATCH, LETTERS = 4, 4, 128, 64, 12, 65


class Layer(nn.Module):
    """Attention to earlier letters, then two dense layers; both are added to their input."""

    def __init__(self):
        super().__init__()
        self.norm_attention, self.norm_dense = nn.LayerNorm(WIDTH, bias=False), nn.LayerNorm(WIDTH, bias=False)
        self.to_attention, self.of_attention = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH, bias=False), nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, x):
        parts = self.to_attention(self.norm_attention(x)).chunk(3, dim=-1)
        heads = [part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts]
        attended = F.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.of_attention(attended.transpose(1, 2).flatten(-2))
        return x + self.narrow(F.gelu(self.widen(self.norm_dense(x))))


class Gpt(nn.Module):
    """Predicts the next letter after each letter of a text. The table of letters is also the last layer's weight."""

    def __init__(self):
        super().__init__()
        self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(BLOCK, WIDTH)
        self.layers = nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm, self.last = nn.LayerNorm(WIDTH, bias=False), nn.Linear(WIDTH, LETTERS, bias=False)
        nn.init.normal_(self.letters.weight, std=0.02)
        self.last.weight = self.letters.weight

    def forward(self, texts):
        return self.last(self.norm(self.layers(self.letters(texts) + self.places.weight[:texts.shape[1]])))


def loss_of(model, texts):
    """The mean loss over all letters but the first of each text."""
    return F.cross_entropy(model(texts[:, :-1]).flatten(0, 1), texts[:, 1:].flatten())


def make_texts(seed):
    return torch.randint(LETTERS, (BATCH, BLOCK + 1), generator=torch.Generator().manual_seed(seed))
