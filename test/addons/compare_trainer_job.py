"""A script for eave compare --program that trains by Hugging Face's Trainer, as the guide says: compare_trainer_job.py DIR"""
import sys

import eave
from eave.huggingface import AveragerCallback

plan = eave.plan(lr=0.05, steps=6, batch=4)
averaging = AveragerCallback()
import torch
import transformers


class Record(transformers.TrainerCallback):
    def on_epoch_begin(self, args, state, control, **_):
        if state.global_step == 0:
            self.run = eave.Run("unused", averaging.averager, batch=plan.batch, metric="loss", better="lower")

    def on_train_end(self, args, state, control, **_):
        with averaging.averager.consensus():
            self.run.evaluate(loss=trainer.evaluate()["eval_loss"])
        self.run.close()


transformers.set_seed(plan.seed)
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0))
texts = torch.randint(32, (64, 16), generator=torch.Generator().manual_seed(eave.rank()))
data = [{"input_ids": text, "labels": text} for text in texts]
arguments = transformers.TrainingArguments(sys.argv[1], max_steps=plan.steps, learning_rate=plan.lr, report_to=[], use_cpu=True,
                                           per_device_train_batch_size=plan.batch, save_strategy="no", disable_tqdm=True)
trainer = transformers.Trainer(model, arguments, train_dataset=data, eval_dataset=data[:8], callbacks=[Record(), averaging])
trainer.train()
