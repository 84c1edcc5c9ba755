"""Rounds of a job of two hosts, as torchrun's agents start them: all rounds share a store, and each agent counts its own
restarts. Prints what rank 0 of each whole round prints.

    torchrun_rounds_job.py   uses torchrun_job.py beside it
"""
import os
import pathlib
import subprocess
import sys
import time

import torch.distributed

store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
of_eave = torch.distributed.PrefixStore("eave", store)


def start(rank, restarts, limit="30s", **more):
    """`limit`: if the rank took the point of a former round, it would find nobody there."""
    agent = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True",
             "TORCHELASTIC_RESTART_COUNT": str(restarts), "GROUP_RANK": rank, "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
    return subprocess.Popen([sys.executable, str(pathlib.Path(__file__).with_name("torchrun_job.py")), "alone"],
                            env={**os.environ, **agent, "EAVE_MEET_LIMIT": limit, "RANK": rank, "WORLD_SIZE": "2"},
                            stdout=subprocess.PIPE, text=True, **more)


def await_hello(before):
    end = time.monotonic() + 60
    while of_eave.add("hellos", 0) == before and time.monotonic() < end:
        time.sleep(0.05)


def finish(ranks):
    ended = [rank.communicate(timeout=90)[0] for rank in ranks]
    if any(rank.returncode for rank in ranks):
        sys.exit(f"exit codes {[rank.returncode for rank in ranks]}")
    print(ended[0].strip(), flush=True)


def whole_round(restarts_of_first, restarts_of_second):
    """The second host's rank comes first, so the store has only keys of former rounds then."""
    hellos = of_eave.add("hellos", 0)
    late = start("1", restarts_of_second)
    await_hello(hellos)
    finish([start("0", restarts_of_first), late])


def round_whose_first_rank_has_failed():
    """The second host's rank is alone."""
    lonely = start("1", 0, limit="500ms", stderr=subprocess.PIPE)
    told = lonely.communicate(timeout=60)[1]
    words = ("rank 1 has not heard from rank 0 through the store", "waits for 0.5 s (EAVE_MEET_LIMIT)", "look whether rank 0 still runs")
    if lonely.returncode != 69 or not all(each in told for each in words):
        sys.exit(f"a rank without rank 0 ends with {lonely.returncode}: {told}")


def round_that_ends_early():
    """The second host's rank has said hello when its agent ends it."""
    hellos = of_eave.add("hellos", 0)
    lonely = start("1", 0)
    await_hello(hellos)
    lonely.kill()
    lonely.communicate()


whole_round(0, 0)
round_that_ends_early()
round_whose_first_rank_has_failed()
whole_round(3, 0)  # a change of the number of hosts counts as no restart
answers = [key for key in store.list_keys() if "answer" in key] if hasattr(store, "list_keys") else []
if answers:
    sys.exit(f"secrets are left in the store: {answers}")
