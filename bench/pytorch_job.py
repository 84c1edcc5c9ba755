"""What ranks of PyTorch (gloo, one thread each) have in common."""
import os
import warnings

os.environ["TORCH_CPP_LOG_LEVEL"] = "ERROR"  # hosts without a name server
warnings.filterwarnings("ignore", message=".*broadcast_buffers. is deprecated")  # the option that replaces it syncs at first

import pytorch_steps  # before torch: it keeps warnings quiet
import torch
import torch.distributed
from torch.nn.parallel import DistributedDataParallel


def join(rank, ranks, address, port):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.distributed.init_process_group("gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=ranks)


def wrap(model):
    """In a DDP with its default buckets (25 MiB, the first of 1 MiB, during backward), gradients as views into them, and
    statistics of batch norm that are not exchanged, as in eave."""
    return DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)
