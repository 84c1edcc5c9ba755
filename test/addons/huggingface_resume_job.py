"""A rank whose Trainer is asked to leave, and goes on: huggingface_resume_job.py DIR MODE [METHOD]

MODE is straight, leaves, returns, or a way to choose the best checkpoint, which is refused: best, save-best. All others
print the norm of the consensus. With easgd, the default METHOD, it does not depend on the break.
"""
import random
import signal
import sys
import time

from eave.huggingface import AveragerCallback

folder, mode, method = [*sys.argv[1:], "easgd"][:3]
callback = AveragerCallback(method, tau=3)
import eave
import numpy
import torch
import transformers


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Dropout(0.1), torch.nn.Linear(16, 3))

    def forward(self, x, labels):
        logits = self.layers(x) * (1 + random.random() + numpy.random.random() if self.training else 1)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


# Ranks of easgd-async leave after different steps: rank 1 while rank 0 waits to save a checkpoint of step 10.
LEFT = 10 if method == "easgd-async" and eave.rank() == 0 else 7


class Ask(transformers.TrainerCallback):
    def on_step_begin(self, args, state, control, **_):
        if mode == "leaves" and state.global_step >= LEFT:
            if eave.rank() == 1:
                signal.raise_signal(signal.SIGUSR1)
            time.sleep(0.2)


class Data(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.randn(160, 8, generator=torch.Generator().manual_seed(eave.rank()))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return {"x": self.x[index], "labels": self.x[index][:3].argmax()}


transformers.set_seed(1)
random.seed(eave.rank())
numpy.random.seed(eave.rank())
model = Model()
choices = {"best": {"load_best_model_at_end": True, "eval_strategy": "steps"},
           "save-best": {"save_strategy": "best", "metric_for_best_model": "loss", "eval_strategy": "steps"}}
others = {"save_steps": 5 if method == "easgd" else 10, "resume_from_checkpoint": f"{folder}/checkpoint-5"}
arguments = transformers.TrainingArguments(folder, max_steps=18, per_device_train_batch_size=8, learning_rate=0.01, report_to=[],
                                           gradient_accumulation_steps=2, use_cpu=True, disable_tqdm=True,
                                           **choices.get(mode, others))
trainer = transformers.Trainer(model, arguments, train_dataset=Data(), eval_dataset=Data(), callbacks=[callback, Ask()])
# It goes on from the last checkpoint, not from the earlier one that the arguments name.
trainer.train(resume_from_checkpoint=mode == "returns" or None)
norm = sum(each.double().square().sum().item() for each in model.parameters())
print(f"norm {norm!r} after step {trainer.state.global_step}")
