"""torchft's DiLoCo as a case of bench/averager_steps: installs it from PyPI, and makes it for one rank."""
import datetime
import shutil
import socket
import sys

import pytorch_environment

REQUIREMENTS = pytorch_environment.ROOT / "bench" / "peers" / "torchft_requirements.txt"
PORT = 29501
PATIENCE = datetime.timedelta(seconds=120)


def prepare(python):
    """(folder of packages, ""), or (None, why there is none). `python` is that of the PyTorch environment."""
    folder = pytorch_environment.environment_directory().with_name("torchft-python{}.{}".format(*sys.version_info))
    stamp = folder / "complete"
    if not stamp.exists() or stamp.read_text() != REQUIREMENTS.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        try:
            pytorch_environment.run_logged("installing torchft", [python, "-m", "pip", "install", "--quiet", "--no-deps",
                                                                  "--no-cache-dir", "--target", folder, "-r", REQUIREMENTS])
            pytorch_environment.run_logged("loading torchft", ["env", f"PYTHONPATH={folder}", python, "-c",
                                                               "import torchft.local_sgd, torchft.manager"])
        except SystemExit as error:
            return None, str(error)
        stamp.write_text(REQUIREMENTS.read_text())
    return folder, ""


def start_lighthouse(ranks):
    """Rank 0 keeps it: it tells the ranks, each of which is a replica group of its own, when all are there."""
    from torchft.coordination import LighthouseServer
    return LighthouseServer(bind=f"0.0.0.0:{PORT}", min_replicas=ranks, join_timeout_ms=1000)


def own_address(other):
    """This host's address, as the host at `other` sees it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as way:
        way.connect((other, PORT))  # sends nothing
        return way.getsockname()[0]


class Diloco:
    """Steps of DiLoCo with the outer optimizer of eave's: Nesterov's momentum of 0.9 and rate 0.7. A context manager of
    torchft, which takes the place of optimizer.step() by hooks."""

    def __init__(self, model, optimizer, rank, ranks, address, tau):
        import torch
        from torchft.local_sgd import DiLoCo
        from torchft.manager import Manager
        from torchft.process_group import ProcessGroupGloo
        self._lighthouse = start_lighthouse(ranks) if rank == 0 else None
        outer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9, nesterov=True)
        here = own_address(address)
        self._store = torch.distributed.TCPStore(here, 0, is_master=True, wait_for_workers=False)
        self._manager = Manager(pg=ProcessGroupGloo(timeout=PATIENCE), min_replica_size=ranks, load_state_dict=None,
                                state_dict=None, replica_id=f"rank{rank}", store_addr=here, store_port=self._store.port,
                                rank=0, world_size=1, use_async_quorum=False, init_sync=False, timeout=PATIENCE,
                                quorum_timeout=PATIENCE, connect_timeout=PATIENCE,
                                lighthouse_addr=f"http://{address}:{PORT}")
        self._diloco = DiLoCo(self._manager, [model], optimizer, outer, sync_every=tau)
        self._diloco.__enter__()
        self.step = optimizer.step

    def close(self):
        self._diloco.__exit__(None, None, None)
        self._manager.shutdown()
        if self._lighthouse:
            self._lighthouse.shutdown()
