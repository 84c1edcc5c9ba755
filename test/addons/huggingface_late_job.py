"""Makes the callback after TrainingArguments, which has taken the launcher's ranks for its own by then."""
import os
import sys

import torch
import transformers
from eave.huggingface import AveragerCallback

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=sys.argv[1])  # as torchrun does
arguments = transformers.TrainingArguments(output_dir="unused", report_to="none", use_cpu=True)
transformers.Trainer(torch.nn.Linear(1, 1), arguments, callbacks=[AveragerCallback()])
