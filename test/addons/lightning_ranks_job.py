"""A rank of which Lightning's Trainer must not do something of its own: lightning_ranks_job.py DIR MODE

stops        rank 1 would lower its rate and stop earlier than rank 0, and write checkpoints
alone        rank 0 alone validates, and has one epoch less
interrupted  a training ends by an exception that the program catches, and the next one goes on
outside      the optimizer has a parameter that the module has not
manual       the module steps two optimizers itself, which is refused
All but the last print a line of what they found, which is the same on all ranks.
"""
import sys

from eave.lightning import AveragerCallback

folder, mode = sys.argv[1:]
averaging = AveragerCallback("local-sgd", tau=3) if mode == "outside" else AveragerCallback()
import eave
import lightning.pytorch
import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

SCORES = [[1.0, 2.0, 3.0, 3.0, 2.0, 1.0], [9.0, 8.0, 7.0, 6.0, 5.0, 4.0]][eave.rank()]
outside = torch.nn.Parameter(torch.ones(1))


class Line(lightning.pytorch.LightningModule):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.automatic_optimization = mode != "manual"
        self.has_ended = mode != "interrupted"

    def training_step(self, batch, _):
        if self.global_step == 2 and not self.has_ended:
            self.has_ended = True
            raise ValueError("the first training ends")
        return (self.weight * outside * batch - 1).square().mean()

    def validation_step(self, *_):
        self.log("score", SCORES[self.current_epoch])

    def configure_optimizers(self):
        if mode == "manual":
            return [torch.optim.SGD([each], lr=0.1) for each in (self.weight, outside)]
        optimizer = torch.optim.SGD([self.weight, outside], lr=0.1)
        scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", patience=0)
        if mode == "alone":
            return optimizer
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "monitor": "score"}}


def loader(count=4):
    return torch.utils.data.DataLoader(torch.randn(count, 1, generator=torch.Generator().manual_seed(eave.rank())))


stopping = [EarlyStopping("score", mode="max", patience=2), ModelCheckpoint(folder, save_last=True)] if mode == "stops" else []
length = {"max_steps": 8} if mode == "alone" else {"max_epochs": 6 if stopping else 1}
trainer = lightning.pytorch.Trainer(**length, devices=1, accelerator="cpu",
                                    callbacks=[*stopping, averaging], enable_checkpointing=bool(stopping), logger=False,
                                    enable_progress_bar=False, default_root_dir=folder, num_sanity_val_steps=0)
module = Line()
try:
    if mode == "alone":
        trainer.fit(module, loader(8 if eave.rank() == 0 else 4), loader() if eave.rank() == 0 else None)
    else:
        trainer.fit(module, loader(), loader())
except ValueError:
    trainer.fit(module, loader(), loader())
print(f"\nweight {module.weight.item()!r} outside {outside.item()!r} steps {trainer.global_step} "
      f"rate {trainer.optimizers[0].param_groups[0]['lr']:g}", flush=True)
