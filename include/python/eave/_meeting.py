"""How ranks that torchrun started meet without MPI: through the job's own store."""
from __future__ import annotations

import contextlib
import datetime
import ipaddress
import os
import re
import secrets
import socket
import threading
from typing import Any, Iterator, Optional

from ._error import PEER_LOST, Error
from ._library import job

TORCHRUN = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
OWN = ("EAVE_MEET", "EAVE_MEET_RANK", "EAVE_MEET_SECRET", "EAVE_MEET_SOCKET")  # src/transport/tcp/tcp_job.h


@contextlib.contextmanager
def meeting(transport: str) -> Iterator[None]:
    """Tells libeave.so where and how the ranks meet, for the time of the block. Does nothing if MPI connects them, or if
    torchrun has not started them."""
    store = _store() if transport == "auto" or transport.startswith("tcp") else None
    if store is None:
        yield
        return
    rank, size = os.environ["RANK"], os.environ["WORLD_SIZE"]
    if os.environ.get("GROUP_RANK") == "1" and os.environ.get("LOCAL_RANK") == "0":
        with _hearing_from("rank 0"):
            store.set("from", _way_to(_point_of_store()))
    try:
        with _invitation(store, int(size)) if rank == "0" else _invited(store, rank) as invitation:
            point, secret = invitation.split()
            os.environ.update(EAVE_MEET=point, EAVE_MEET_SECRET=secret, EAVE_MEET_RANK=f"{rank}/{size}")
            yield
    finally:
        for name in OWN:  # no child process is a rank
            os.environ.pop(name, None)


# The store outlives the processes of a round, and nothing in a rank's environment says which round it belongs to:
# TORCHELASTIC_RESTART_COUNT is one agent's. So each rank says hello with a random number of its own for each meeting,
# and takes no answer but the one to this number.
@contextlib.contextmanager
def _invited(store: Any, rank: str) -> Iterator[str]:
    """Rank 0's point and secret, for another rank."""
    number = secrets.token_hex(16)
    with _hearing_from("rank 0"):
        store.set(f"hello {rank}", number)
        store.add("hellos", 1)  # now rank 0 looks at them
        store.wait([f"answer {number}"], _limit())
        invitation = store.get(f"answer {number}").decode()
    yield invitation


@contextlib.contextmanager
def _invitation(store: Any, size: int) -> Iterator[str]:
    """Rank 0's point and secret. For the time of the block, a thread hands them to each rank that says hello, while
    libeave.so waits for the ranks."""
    listener = _listener(store)
    host, port = listener.getsockname()[:2]
    point = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    invitation = f"{point} {secrets.token_hex(32)}"
    os.environ["EAVE_MEET_SOCKET"] = str(listener.detach())  # libeave.so takes it over
    answered: set[str] = set()
    all_have_come = threading.Event()
    thread = threading.Thread(target=_answer, args=(store, size, invitation, answered, all_have_come), daemon=True)
    thread.start()
    try:
        yield invitation
    finally:
        all_have_come.set()
        thread.join(timeout=5)  # it waits longer only if the store does not answer
        with contextlib.suppress(RuntimeError):
            for number in () if thread.is_alive() else answered:
                store.delete_key(f"answer {number}")


def _answer(store: Any, size: int, invitation: str, answered: set[str], all_have_come: threading.Event) -> None:
    """Hellos of a former round get an answer that nobody reads."""
    seen = None
    with contextlib.suppress(RuntimeError):  # the store has ended: libeave.so says which ranks have not come
        while not all_have_come.wait(0 if seen is None else 0.05):
            hellos = store.add("hellos", 0)
            if hellos == seen:
                continue
            seen = hellos
            for rank in range(1, size):
                # The value if there is one, without waiting for it. Store.check came after PyTorch 2.0.
                number = store.compare_set(f"hello {rank}", "none", "none").decode()
                if number != "none" and number not in answered:
                    store.set(f"answer {number}", invitation)
                    answered.add(number)


def _store() -> Optional[Any]:
    """The store of torchrun's job. None if the ranks meet in another way."""
    if "EAVE_MEET" in os.environ or any(name not in os.environ for name in TORCHRUN):
        return None
    if os.environ["WORLD_SIZE"] == "1" or job.library.eave_ranks_meet_by_mpi():
        return None
    try:
        from torch.distributed import PrefixStore, TCPStore
    except ImportError:
        return None
    # torchrun's agent may have a server at that place already. Otherwise rank 0 has it, and shares it with
    # init_process_group, before or after.
    is_first = os.environ["RANK"] == "0"
    is_server = is_first and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    with contextlib.nullcontext() if is_first else _hearing_from("rank 0"):
        store = TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), int(os.environ["WORLD_SIZE"]), is_server,
                         timeout=_limit(), wait_for_workers=False, multi_tenant=True)
    return PrefixStore("eave", store)


@contextlib.contextmanager
def _hearing_from(other: str) -> Iterator[None]:
    """Within it, the store is to bring a value of another rank. Otherwise PyTorch's exception becomes an Error."""
    try:
        yield
    except RuntimeError as error:
        place = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
        raise Error(PEER_LOST, f"rank {os.environ['RANK']} has not heard from {other} through the store of torchrun's job at "
                               f"{place}: look whether {other} still runs, and at its messages. A rank waits for "
                               f"{_limit().total_seconds():g} s (EAVE_MEET_LIMIT). The store says: "
                               f"{str(error).partition(chr(10))[0][:200]}") from None


def _limit() -> datetime.timedelta:
    """How long ranks wait for each other. If EAVE_MEET_LIMIT makes no sense, libeave.so says so later."""
    found = re.fullmatch(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*(ms|s|m|min|h)", os.environ.get("EAVE_MEET_LIMIT", "").strip())
    unit = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600}
    with contextlib.suppress(ValueError, OverflowError):
        if found:
            return datetime.timedelta(seconds=max(float(found[1]) * unit[found[2]], 0.001))
    return datetime.timedelta(minutes=10)  # as in libeave.so


def _point_of_store() -> tuple[str, int]:
    found = socket.getaddrinfo(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), type=socket.SOCK_STREAM)
    return str(found[0][4][0]), int(found[0][4][1])


def _way_to(point: tuple[str, int]) -> str:
    """The address from which this host reaches another one."""
    family = socket.AF_INET6 if ":" in point[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as way:
        way.connect(point)  # sends nothing
        return str(way.getsockname()[0])


def _listener(store: Any) -> socket.socket:
    """A socket on a free port of the address of this host at which the other ranks reach it: that of the store, or, if
    the store is elsewhere, the one from which this host reaches it. On Debian a host's own name may
    stand for 127.0.1.1. Then it is the address from which this host reaches another one, whose address the store has
    under the key `from`."""
    host, port = _point_of_store()
    is_alone = os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"]) == os.environ["WORLD_SIZE"]
    if ipaddress.ip_address(host.partition("%")[0]).is_loopback and not is_alone:
        with _hearing_from("the first rank of the second host"):
            host = _way_to((store.get("from").decode(), port))
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.bind((host, 0))
    except OSError:
        listener.bind((_way_to((host, port)), 0))
    return listener
