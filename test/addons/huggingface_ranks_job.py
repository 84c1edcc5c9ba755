"""A rank of which the Trainer must not do something of its own: huggingface_ranks_job.py DIR MODE [FORMER]

tokens       a step on texts of unequal lengths is that of one rank with all of them
ignores      so it is if the loss ignores the number of label tokens
alone        rank 0 alone evaluates
streams      datasets without lengths end within a step, on each rank in another one
stops        rank 1 would lower its rate and stop earlier than rank 0
interrupted  a training ends by KeyboardInterrupt, and the next one goes on
saves        a training by easgd (if there is a FORMER) keeps checkpoints
goes-on      it goes on from the checkpoint FORMER, a pathlib.Path, which is in another DIR
All print a line of what they found, which is the same on all ranks.
"""
import pathlib
import sys

from eave.huggingface import AveragerCallback

folder, mode, *former = sys.argv[1:]
averaging = AveragerCallback("easgd", tau=2) if former else AveragerCallback()
import eave
import torch
import transformers

TEXTS = 64
SCORES = iter([[1, 2, 3, 3, 2, 1], [9, 8, 7, 6, 5, 4]][eave.rank()])
MODES = {"stops": {"eval_strategy": "steps", "eval_steps": 2, "metric_for_best_model": "score", "max_steps": 12,
                   "lr_scheduler_type": "reduce_lr_on_plateau", "lr_scheduler_kwargs": {"mode": "max", "patience": 0}},
         "alone": {"eval_strategy": "no" if eave.rank() else "steps", "eval_steps": 2},
         "ignores": {"gradient_accumulation_steps": 1, "per_device_train_batch_size": 8 // eave.size()}}


class Interrupt(transformers.TrainerCallback):
    """Ends the first training before its third step."""
    has_ended = mode != "interrupted"

    def on_step_begin(self, args, state, control, **_):
        if state.global_step == 2 and not self.has_ended:
            self.has_ended = True
            raise KeyboardInterrupt


def make_texts():
    """This rank's texts: in each step the ranks together have the same ones, whatever their number is."""
    generator = torch.Generator().manual_seed(1)
    ids, lengths = (torch.randint(low, 32, (TEXTS, each), generator=generator) for low, each in ((0, 16), (2, 1)))
    labels = ids.masked_fill(torch.arange(16) >= lengths // 2, -100)
    labels[:, 0] = -100  # no model predicts the first one, which some Trainers count
    mine = torch.arange(TEXTS) // (8 // eave.size()) % eave.size() == eave.rank()
    return [{"input_ids": text, "labels": label} for text, label in zip(ids[mine], labels[mine])]


class Trainer(transformers.Trainer):
    def _get_train_sampler(self, *_):
        return torch.utils.data.SequentialSampler(self.train_dataset)

    def compute_loss(self, model, inputs, *arguments, **options):
        if mode == "ignores":
            return model(**inputs).loss
        return super().compute_loss(model, inputs, *arguments, **options)


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(make_texts()[:6 + 4 * eave.rank()])


transformers.set_seed(1)
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0, resid_pdrop=0, embd_pdrop=0,
    attn_pdrop=0))
words = {"max_steps": 4, "save_strategy": "no", "per_device_train_batch_size": 4 // eave.size(),
         "gradient_accumulation_steps": 2, **MODES.get(mode, {})}
if mode in ("goes-on", "saves"):
    words.update(save_strategy="steps", save_steps=2)
arguments = transformers.TrainingArguments(folder, learning_rate=0.1, optim="sgd", max_grad_norm=0.5, logging_steps=1,
                                           report_to=[], use_cpu=True, disable_tqdm=True, **words)
stopping = [transformers.EarlyStoppingCallback(1)] if mode == "stops" else []
trainer = Trainer(model, arguments, train_dataset=Stream() if mode == "streams" else make_texts(), eval_dataset=make_texts()[:4],
                  compute_metrics=(lambda _: {"score": next(SCORES)}) if mode == "stops" else None,
                  callbacks=[*stopping, averaging, Interrupt()])
try:
    trainer.train(resume_from_checkpoint=pathlib.Path(former[0]) if mode == "goes-on" else None)
except KeyboardInterrupt:
    assert arguments.max_grad_norm == 0.5 and not arguments.save_only_model
    trainer.train()
norm = sum(each.detach().double().square().sum().item() for each in model.parameters())
norms = [each["grad_norm"] for each in trainer.state.log_history if "grad_norm" in each]
speed = trainer.state.log_history[-1]
print(f"\nnorm {norm:.6f} gradients {[round(each, 4) for each in norms]} steps {trainer.state.global_step} "
      f"rate {trainer.optimizer.param_groups[0]['lr']:g} "
      f"samples {round(speed['train_samples_per_second'] / speed['train_steps_per_second']) if not stopping else ''}", flush=True)
