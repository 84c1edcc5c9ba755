"""Lightning's Trainer trains a small network on two ranks or more, by the method that you name.

    mpirun -np 2 python3 own_lightning.py OUT easgd tau=10
"""
import sys

import eave
import lightning.pytorch as lightning
import torch
from eave.lightning import AveragerCallback
from torch.utils.data import DataLoader, TensorDataset


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4))

    def loss(self, batch):
        return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

    def training_step(self, batch, _):
        return self.loss(batch)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)
        return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]


def make_data(seed):
    """Points, and which of the first four coordinates is the largest. Each rank has its own."""
    x = torch.randn(512, 16, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(x, x[:, :4].argmax(1))


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, method, *words = sys.argv[1:]
    averaging = AveragerCallback(method, **dict(word.split("=") for word in words))  # before the Trainer
    lightning.seed_everything(1, verbose=False)
    module, first = Classifier(), eave.rank() == 0
    with torch.no_grad():
        before = module.loss(make_data(1000).tensors).item()
    trainer = lightning.Trainer(
        default_root_dir=folder, max_epochs=5, devices=1, accelerator="auto", callbacks=[averaging],
        accumulate_grad_batches=2, logger=False, enable_checkpointing=False, enable_progress_bar=first,
        enable_model_summary=first)
    trainer.fit(module, DataLoader(make_data(eave.rank()), batch_size=16, shuffle=True))
    with torch.no_grad():
        after = module.loss(make_data(1000).tensors).item()  # of the consensus, the same on all ranks
    if first:
        trainer.save_checkpoint(f"{folder}/module.ckpt")
    print(f"rank {eave.rank()}: loss {before:.4f} before, {after!r} after", flush=True)


main()
