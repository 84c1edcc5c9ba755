"""A rank whose loop is written with Accelerate, as the guide says: accelerate_job.py given|inside

given    the Averager gets the optimizer that Accelerate has prepared, and refuses it
inside   it gets the one inside
"""
import sys

import eave

eave.start_alone()
import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
torch.manual_seed(1)
model = torch.nn.Linear(8, 2)
samples = torch.randn(32, 8, generator=torch.Generator().manual_seed(eave.rank()))
model, optimizer, batches = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1),
                                                torch.utils.data.DataLoader(samples, batch_size=4))
with eave.Averager(model, optimizer if sys.argv[1] == "given" else optimizer.optimizer, "easgd", tau=2) as averager:
    for batch in batches:
        with accelerator.accumulate(model):
            accelerator.backward(model(batch).square().mean())
            if accelerator.sync_gradients:
                averager.average_gradients()
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                averager.step()
                optimizer.zero_grad()
    with averager.consensus():
        print(f"\nweight {model.weight.sum().item()!r} after {averager.steps} steps", flush=True)
