"""Hugging Face's Trainer trains a small GPT on two ranks or more, by the method that you name, and rank 0 saves it.

    mpirun -np 2 python3 own_trainer.py OUT easgd tau=10
"""
import sys

import eave
import torch
import transformers
from eave.huggingface import AveragerCallback


def make_texts(seed, texts=256, length=16, letters=32):
    """Texts in which each letter follows from the one before. Each rank has its own."""
    first = torch.randint(letters, (texts, 1), generator=torch.Generator().manual_seed(seed))
    return [{"input_ids": text, "labels": text} for text in (first + 3 * torch.arange(length)) % letters]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder, method, *words = sys.argv[1:]
    averaging = AveragerCallback(method, **dict(word.split("=") for word in words))  # before TrainingArguments
    transformers.set_seed(1)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
        vocab_size=32, n_positions=16, n_embd=32, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
    arguments = transformers.TrainingArguments(
        output_dir=folder, max_steps=60, per_device_train_batch_size=8, gradient_accumulation_steps=2, learning_rate=1e-2,
        logging_steps=10, save_strategy="no", report_to="none", disable_tqdm=True, use_cpu=not torch.cuda.is_available())
    trainer = transformers.Trainer(model, arguments, train_dataset=make_texts(eave.rank()),
                                   eval_dataset=make_texts(seed=1000), callbacks=[averaging])
    before = trainer.evaluate()["eval_loss"]
    trainer.train()
    after = trainer.evaluate()["eval_loss"]  # of the consensus, the same on all ranks
    trainer.save_model()                     # rank 0 alone writes: from_pretrained(folder) reads it
    print(f"rank {eave.rank()}: loss {before:.4f} before, {after!r} after", flush=True)


main()
