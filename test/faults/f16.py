"""F16: one rank has a loss or gradient that is not finite. It reaches no other rank, and the run goes on."""
import array
import json

import lab

RANKS = 3
METHODS = lab.METHODS | {
    "bmuf": ["--communicator", "bmuf", "--tau", "4"],
    "slowmo": ["--communicator", "slowmo", "--tau", "3"],
    "gossip": ["--communicator", "gossip", "--tau", "2"],
    "downpour": ["--communicator", "downpour", "--tau", "2", "--lr", "0.01", "--async-order", "round-robin"],
    "allreduce int8": ["--communicator", "allreduce", "--compression", "int8"],
    "easgd fp16": ["--communicator", "easgd", "--tau", "3", "--compression", "fp16"],
    "none": ["--communicator", "none"],
}
FAULTS_OF_STEP = ["nan-loss", "nan-gradient", "inf-gradient"]
STEPS = 60


def values_of(path):
    """Returns all numbers of a safetensors file."""
    content = path.read_bytes()
    header = int.from_bytes(content[:8], "little")
    values = array.array("f")
    values.frombytes(content[8 + header:])
    return values


def put_in(place):
    name = sorted(METHODS)[place.index % len(METHODS)]
    fault = FAULTS_OF_STEP[place.index // len(METHODS) % 3]
    # Trials use all policies, and "skip" most often.
    policy = {5: "rollback", 6: "abort"}.get(place.index % 7, "skip")
    # Before the first checkpoint a rollback has no state to go back to.
    rank, step = place.random.randrange(RANKS), place.random.randrange(35 if policy == "rollback" else 1, STEPS - 3)
    if step % 30 == 0:
        step += 1
    job = place.run(RANKS, ["train", *lab.SMALL, *METHODS[name], "--max-steps", STEPS, "--evaluate-every", "0.2",
                            "--run-dir", place.run_dir(), "--on-nonfinite", policy, "--checkpoint-every", "4",
                            "--inject-fault", f"{rank}:{step}:{fault}:{place.random.randrange(1000)}:0"])
    how = f"{name}, {fault} on rank {rank} in step {step}"
    if policy == "abort":
        lab.require(job.code == 76, f"{how}: {job.tail()}")
        lab.require(f"step {step}" in job.complains(), f"{how}: step not named: {job.tail()}")
        return
    lab.require(job.code == 0, f"{how}: {job.tail()}")
    lab.require(all(abs(value) < 3.4e38 for value in values_of(place.run_dir() / "model.safetensors")),
                f"{how}: the model is not finite")
    summary = json.loads((place.run_dir() / "summary.json").read_text())
    counted = "rollbacks" if policy == "rollback" else "nonfinite"
    lab.require(summary.get(counted, 0) >= 1, f"{how}: not counted")
    lab.require(summary["evaluation"]["center"]["loss"] is not None, f"{how}: the loss is not finite in the end")
    lab.require(f"step {step} is not finite" in job.complains(), f"{how}: step not named: {job.tail()}")


FAULTS = [lab.Fault("F16", "NaN or Inf in one rank's loss or gradient: left out and counted, or back to a checkpoint, or 76; no other rank takes it",
                    put_in, quick=12, full=100)]
