"""A compared script imports torch._dynamo only if it compiles: late_dynamo.py, with the variables of a run of compare."""
import sys

import eave
import torch

eave.plan(lr=0.1, steps=1)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
model(torch.ones(4, 3)).sum().backward()
torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()
optimizer.zero_grad()
optimizer.load_state_dict(optimizer.state_dict())
assert "torch._dynamo.convert_frame" not in sys.modules, "torch._dynamo is imported"

compiled = torch.compile(model, backend="eager")
assert torch.equal(compiled(torch.ones(4, 3)), model(torch.ones(4, 3)))
assert "torch._dynamo.convert_frame" in sys.modules and torch._dynamo is sys.modules["torch._dynamo"]
assert torch._dynamo.config is not None and type(torch._dynamo).__name__ == "module"
compiled(torch.ones(4, 3)).sum().backward()
optimizer.step()
optimizer.zero_grad()
print("late")
