#!/usr/bin/env python3
"""Stands in for every program that test/gpu/run starts, for rehearsals without a GPU. Links with their names lead here.

It notes each call in $STAND_IN/calls. Words in $STAND_IN_FAULTS, such as "nccl-hangs", choose what goes wrong. Nothing
here computes, since the numbers only have to be of the right kind.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

NAME, WORDS = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
PLACE = pathlib.Path(os.environ["STAND_IN"])
FAULTS = os.environ.get("STAND_IN_FAULTS", "").split()
VISIBLE = os.environ.get("CUDA_VISIBLE_DEVICES")
LONG_S = 120  # longer than a rehearsal waits for anything


def note(what, **more):
    with (PLACE / "calls").open("a") as calls:
        calls.write(json.dumps({"program": NAME, "what": what, "time": time.monotonic(), "visible": VISIBLE, **more}) + "\n")


def value_of(option, default=None):
    return WORDS[len(WORDS) - 1 - WORDS[::-1].index(option) + 1] if option in WORDS else default


def refuse(code, text):
    print(f"eave: {text}", file=sys.stderr)
    sys.exit(code)


def write_run(folder, devices, steps):
    device, ranks, every = devices[0], len(devices), int(value_of("--log-every", "1"))
    shift = 1.3 if "wrong-loss" in FAULTS and device != "cpu" else 1.0
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"type": "start", "ranks": [{"device": device} for device in devices]}]
    lines += [{"type": "step", "rank": rank, "step": step, "loss": shift * (2.3 - 0.001 * step), "computing": 0.01,
               "waiting": 0.0, "loading": 0.0} for step in range(every, steps + 1, every) for rank in range(ranks)]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    (folder / "summary.json").write_text(json.dumps({"test_accuracy": 0.5}))


def eave():
    device, transport, ranks = value_of("--device"), value_of("--transport"), int(os.environ.get("STAND_IN_RANKS") or os.environ.get("WORLD_SIZE", "1"))
    gpus = 1 if VISIBLE is None else len(VISIBLE.split(",")) if VISIBLE else 0
    no_gpu = VISIBLE == ""
    if value_of("--gpu") == "99":
        refuse(64, f"--gpu 99: this process sees {gpus} GPU, counted from 0")
    if device == "cuda" and no_gpu:
        refuse(71, "no GPU can be used")
    if "--share-gpu" in WORDS and ranks <= gpus:
        refuse(64, "--share-gpu has no effect")
    if value_of("--model") == "resnet50":
        note("fills", samples=min(int(value_of("--batch")), int(value_of("--synthetic-samples"))))
        refuse(71, "out of memory: try --batch 512")
    if value_of("--lr") == "999999":
        refuse(0 if "no-gate" in FAULTS else 76, "training diverged")
    if os.environ.get("STAND_IN_MIXED") or device == "cuda" and ranks > gpus and "--share-gpu" not in WORDS:
        refuse(64, "rank 1 has no GPU of its own: give --share-gpu")
    note("trains", device=device, transport=transport, ranks=ranks, model=value_of("--model"),
         method=value_of("--communicator"), steps=value_of("--max-steps"))
    if f"{transport}-hangs" in FAULTS and ranks > 1 and device == "cuda":
        time.sleep(LONG_S)
    if "noisy" in FAULTS:
        print("noise " * (1 << 18))
    if "slow" in FAULTS:
        time.sleep(1)
    if no_gpu:
        print("no GPU here: trains on the CPU")
    if transport:
        own = ranks <= gpus and "nccl-unused" not in FAULTS
        print(f"communicator   {value_of('--communicator')} over {('nccl' if own else 'mpi') if transport == 'auto' else transport}", flush=True)
    devices = [f"cuda:{rank % gpus} stand-in" if device == "cuda" else "cpu" for rank in range(ranks)]
    steps = int(value_of("--max-steps"))
    endless, rank = steps > 1000000, int(os.environ.get("RANK", "0"))
    other = meet_the_other(rank) if "RANK" in os.environ else None
    if rank == 0:
        write_run(pathlib.Path(value_of("--run-dir")), devices, 100 if endless else steps)
    if other:
        lose_the_other(rank, other)
    if endless:
        time.sleep(LONG_S)  # until this rank is killed
    note("trained", device=device)


def outlive(seconds):
    """Another rank is lost, and this one sees it after these seconds."""
    time.sleep(LONG_S if "survives" in FAULTS else seconds)


def meet_the_other(rank):
    """Returns the process of the other of two ranks that have no launcher."""
    (PLACE / f"pid-{rank}").write_text(str(os.getpid()))
    other = PLACE / f"pid-{1 - rank}"
    while not other.exists() or not other.read_text():
        time.sleep(0.02)
    return pathlib.Path("/proc", other.read_text())


def lose_the_other(rank, other):
    """Waits until the other rank has ended, then ends as eave does."""
    while other.exists():
        time.sleep(0.02)
    outlive(0.1)
    refuse(69, f"rank {1 - rank} is lost")


def mpirun():
    if WORDS == ["--version"]:
        print("mpirun (stand-in) 1")
        return
    ranks = max(WORDS.count(":") + 1, int(value_of("-np")))
    start = next(place for place, word in enumerate(WORDS) if os.path.isabs(word))
    command = WORDS[start:WORDS.index(":") if ":" in WORDS else None]
    devices = {word for option, word in zip(WORDS, WORDS[1:]) if option == "--device"}
    variables = {"STAND_IN_RANKS": str(ranks), "STAND_IN_MIXED": "1" if len(devices) > 1 else ""}
    # Like Open MPI, this starts a rank in a process group of its own. It starts only rank 0.
    rank = subprocess.Popen(command, env={**os.environ, **variables}, preexec_fn=os.setpgrp)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in FAULTS else lambda *_: rank.kill())
    status = os.waitpid(rank.pid, os.WUNTRACED)[1]
    if not os.WIFSTOPPED(status):
        sys.exit(os.waitstatus_to_exitcode(status))
    outlive(1)
    rank.kill()
    refuse(69, "rank 0 on stand-in has not answered for 5 s")


def cmake():
    if WORDS == ["--version"]:
        print("cmake version 3 (stand-in)")
        return
    if "--build" not in WORDS:
        note("configures")
        print("-- CUDA 13.0, cuDNN 9.13, NCCL 2.27; for 90-real")
        return
    targets = WORDS[WORDS.index("--target") + 1:]
    note("builds", targets=targets)
    if any(f"no-{target}" in FAULTS for target in targets):
        print("x.cpp:1: error: stand-in")
        sys.exit(1)
    folder = pathlib.Path(value_of("--build"))
    folder.mkdir(parents=True, exist_ok=True)
    for target in targets:
        (folder / target).unlink(missing_ok=True)
        (folder / target).symlink_to(PLACE / "bin" / "stand_in")


def answer_to(kind, words):
    if words[0] == "drop":
        return {}
    if words[0] == "copy":
        return {"bytes_per_second": 2e12}
    if words[0] == "update":
        return {"seconds": {"plain": 20, "pull": 28, "center": 36}[words[2]] * int(words[1]) / 1.8e12}
    if words[2].endswith("-untuned"):
        return {"seconds": 0.011}
    return {"seconds": {"eave": 0.01, "eager": 0.025, "compile": 0.012}[kind], "prepare_seconds": 1, "memory_bytes": 10**9}


def peer(greeting, kind):
    """Stands in for gpu_steps and pytorch_gpu.py."""
    if kind == "eave" and "no-eave" in FAULTS:
        refuse(71, "no GPU")
    if kind != "eave" and "no-torch" in FAULTS:
        sys.exit("ModuleNotFoundError: No module named 'torch'")
    print(json.dumps(greeting), flush=True)
    for line in sys.stdin:
        words = line.split()
        note("times", kind=kind, line=line.strip())
        if kind == "compile" and words[:2] == ["resnet50", "256"] and "compile-hangs-once" in FAULTS and not (PLACE / "hung").exists():
            (PLACE / "hung").write_text("")
            time.sleep(LONG_S)
        if "slow" in FAULTS:
            time.sleep(0.2)
        if words[0] == "resnet50" and kind == "eave" and "steps-hang" in FAULTS and words[1] == "64":
            time.sleep(LONG_S)
        print(json.dumps(answer_to(kind, words)), flush=True)


def python3():
    script = next((word for word in WORDS if word.endswith((".py", "gpu_vs_pytorch"))), "")
    if script.endswith("pytorch_gpu.py"):
        peer({"torch": "stand-in", "device": "stand-in"}, "compile" if "--compile" in WORDS else "eager")
    elif script.endswith("pytorch_job.py"):
        ranks, gpus = int(os.environ.get("STAND_IN_RANKS") or value_of("--nproc-per-node")), len(VISIBLE.split(","))
        note("averages", ranks=ranks, launcher="torchrun" if "torch.distributed.run" in WORDS else "mpirun")
        for rank in range(ranks):
            print(f"rank {rank} is on cuda:{0 if 'one-gpu-taken' in FAULTS else rank % gpus}")
        print(f"{ranks} ranks, easgd, momentum 0.9, on cuda:0: loss 1.2 to 0.1")
    elif script:
        os.execv(os.environ["STAND_IN_PYTHON"], ["python3", *WORDS])
    else:
        print("stand-in")


def test_program():
    note("tests", words=WORDS)
    print("[  PASSED  ] 0 tests." if "skips" in FAULTS else "[  PASSED  ] 3 tests.")


def ctest():
    note("tests", words=WORDS)
    case = '<testcase name="A.b" status="run"><system-out>[       OK ]</system-out></testcase>'
    pathlib.Path(value_of("--output-junit")).write_text(f"<testsuite>{case}</testsuite>")


def nvidia_smi():
    number = 0 if "no-gpu" in FAULTS else next((int(word[5:]) for word in FAULTS if word.startswith("gpus-")), 1)
    for gpu in range(number):
        print(f"Stand-in GPU, 580.00, 9.0, {80000 + gpu} MiB, GPU-{gpu}a")


def nvcc():
    if "nvcc-gone" in FAULTS and NAME == "nvcc":
        sys.exit("nvcc: line 2: /opt/cuda/bin/nvcc: No such file or directory")
    print("Cuda compilation tools, release 13.0, V13.0.1")


def gpu_steps():
    peer({"eave_device": "stand-in"}, "eave")


def compute_sanitizer():
    if "train" in WORDS:
        os.execv(WORDS[WORDS.index("train") - 1], WORDS[WORDS.index("train") - 1:])
    test_program()


if NAME.startswith(("test_cuda", "describe_device")):
    test_program()
else:
    ({"c++": nvcc, "ninja": nvcc}.get(NAME) or globals()[NAME.replace("-", "_")])()
