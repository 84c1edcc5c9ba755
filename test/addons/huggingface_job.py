"""Two ranks: rank 0 saves the consensus of a GPT with tied embeddings and frozen parameters as the guide says, and
from_pretrained reads the same bits."""
import pathlib
import sys

import eave
import torch
import transformers

torch.manual_seed(eave.rank())
model = transformers.GPT2LMHeadModel(transformers.GPT2Config(
    vocab_size=32, n_positions=16, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0))
model.transformer.wpe.requires_grad_(False)
optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-2)
folder = pathlib.Path(sys.argv[1]) / "saved"
with eave.Averager(model, optimizer, "easgd", tau=2) as averager:
    for _ in range(5):
        texts = torch.randint(32, (4, 16))
        optimizer.zero_grad()
        model(input_ids=texts, labels=texts).loss.backward()
        averager.step()
    with averager.consensus():
        if eave.rank() == 0:
            model.save_pretrained(folder)
        saved = {name: value.clone() for name, value in model.state_dict().items()}
        mine = [value.double().sum().item() for value in saved.values()]
    apart = sum(not torch.equal(value, saved[name]) for name, value in model.state_dict().items())
if eave.sum_over_ranks(mine) != [2 * each for each in mine]:
    sys.exit("the consensus differs between ranks")
if apart == 0:
    sys.exit("rank's own model is the consensus: nothing was tried")
if eave.rank() == 0:
    files = sorted(file.name for file in folder.glob("*.safetensors"))
    read = transformers.GPT2LMHeadModel.from_pretrained(folder).state_dict()
    if files != ["model.safetensors"] or read.keys() != saved.keys():
        sys.exit(f"{files} has other names: {read.keys() ^ saved.keys()}")
    if different := [name for name in read if not torch.equal(read[name], saved[name])]:
        sys.exit(f"other bits: {different}")
    print(f"  from_pretrained reads the bits of {len(read)} tensors of the consensus")
