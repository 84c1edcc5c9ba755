"""Set-up that all PyTorch ranks share (gloo, one thread each)."""
import os
import warnings

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # hides warnings on hosts without a name server
warnings.filterwarnings("ignore", message=".*broadcast_buffers. is deprecated")  # the new option syncs buffers at first

import pytorch_steps  # before torch: it keeps warnings quiet
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel


def join(rank, ranks, address, port):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=ranks)


def wrap(model):
    """Wraps the model in DistributedDataParallel with default buckets (25 MiB, the first of 1 MiB, sent during
    backward). Gradients are views into the buckets. As in eave, ranks do not exchange the statistics of batch norm."""
    return DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)
