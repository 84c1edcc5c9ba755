"""F17: on one rank, one bit flips in values that should be equal on all ranks."""
import json

import lab

RANKS = 3
STEPS = 60
EVERY = 10
METHODS = {
    "allreduce": ["--communicator", "allreduce"],
    "easgd": ["--communicator", "easgd", "--tau", "5"],
    "bmuf": ["--communicator", "bmuf", "--tau", "5"],
    # Workers of local-sgd are equal only right after an exchange.
    "local-sgd": ["--communicator", "local-sgd", "--tau", "10"],
}


def repairs_of(run_dir):
    return json.loads((run_dir / "summary.json").read_text()).get("repaired", 0)


def is_as_without(place, words):
    """Returns whether the model has the bits of a run without the fault. Rounding may remove a flipped low bit before
    the ranks compare, for example in bmuf's next exchange, where the old center cancels. Then there is nothing to find."""
    lab.require_code(place.run(RANKS, [*words, "--run-dir", place.run_dir("without")]), 0)
    model = "model.safetensors"
    return (place.run_dir() / model).read_bytes() == (place.run_dir("without") / model).read_bytes()


def flip(place):
    name = sorted(METHODS)[place.index % len(METHODS)]
    repairs = place.index // len(METHODS) % 2 == 1
    rank, step = place.random.randrange(RANKS), place.random.randrange(1, STEPS - 3)
    if name == "local-sgd":
        step = max(EVERY, step // EVERY * EVERY)
    bit, element = place.random.randrange(30), place.random.randrange(1000)
    words = ["train", *lab.SMALL, *METHODS[name], "--max-steps", STEPS, "--replica-hash-every", EVERY]
    job = place.run(RANKS, [*words, "--run-dir", place.run_dir(), "--on-replica-fault", "repair" if repairs else "stop",
                            "--inject-fault", f"{rank}:{step}:flip-bit:{element}:{bit}"])
    how = f"{name}, bit {bit} of element {element} on rank {rank} after step {step}"
    if job.code == 0 and repairs_of(place.run_dir()) == 0:
        lab.require(is_as_without(place, words), f"{how}: not found: {job.tail()}")
        return {"rounded_away": 1}
    named = f"rank {rank} on "
    if repairs:
        lab.require(job.code == 0, f"{how}: {job.tail()}")
        lab.require(repairs_of(place.run_dir()) == 1, f"{how}: repaired {repairs_of(place.run_dir())} times")
        lab.require(named in job.complains(), f"{how}: not named: {job.tail()}")
        return {}
    lab.require(job.code == 70, f"{how}: {job.tail()}")
    messages = job.messages()
    lab.require(len(messages) == 1 and named in messages[0], f"{how}: expected one message: {job.tail()}")
    return {}


FAULTS = [lab.Fault("F17", "a flipped bit in one replica: the rank named, and 70 or repaired from the majority",
                    flip, quick=8, full=200)]
