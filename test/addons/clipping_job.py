"""A rank whose trainer clips gradients to norm 1: clipping_job.py huggingface|lightning DIR [fp16]

The ranks' gradients are 10 and -8, and their mean is 1: it stays as it is. Clipped before, they would add up to 0.
With fp16 the trainer has the GradScaler that it would have on a GPU, and the callback refuses it.
"""
import sys

GRADIENTS = (10.0, -8.0)
HAS_SCALER = sys.argv[3:] == ["fp16"]


def by_huggingface(folder):
    from eave.huggingface import AveragerCallback
    callback = AveragerCallback()
    import eave
    import torch
    import transformers

    class Line(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return {"loss": (self.weight * x).mean()}

    model = Line()
    arguments = transformers.TrainingArguments(folder, max_steps=1, per_device_train_batch_size=1, optim="sgd", learning_rate=1.0,
                                               lr_scheduler_type="constant", max_grad_norm=1.0, save_strategy="no", report_to=[],
                                               use_cpu=True, disable_tqdm=True)
    data = [{"x": torch.tensor([GRADIENTS[eave.rank()]])}] * 2
    trainer = transformers.Trainer(model, arguments, train_dataset=data, callbacks=[callback])
    if HAS_SCALER:
        trainer.accelerator.scaler = torch.amp.GradScaler("cpu")
    trainer.train()
    assert arguments.max_grad_norm == 1.0
    return model.weight


def by_lightning(folder):
    import eave
    import lightning.pytorch
    import torch
    from eave.lightning import AveragerCallback

    class Line(lightning.pytorch.LightningModule):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def training_step(self, batch, _):
            return (self.weight * batch).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=1.0)

    callback, model = AveragerCallback(), Line()
    scaled = lightning.pytorch.plugins.MixedPrecision("16-mixed", "cpu", torch.amp.GradScaler("cpu"))
    trainer = lightning.pytorch.Trainer(max_steps=1, devices=1, accelerator="cpu", gradient_clip_val=1.0, callbacks=[callback],
                                        plugins=[scaled] if HAS_SCALER else [],
                                        enable_checkpointing=False, logger=False, enable_progress_bar=False,
                                        default_root_dir=folder)
    trainer.fit(model, torch.utils.data.DataLoader(torch.tensor([GRADIENTS[eave.rank()]] * 2)))
    return model.weight


weight = {"huggingface": by_huggingface, "lightning": by_lightning}[sys.argv[1]](sys.argv[2])
print(f"weight {weight.item():.4f}")
