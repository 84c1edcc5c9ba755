"""Runs bench/pytorch_averager.py on one rank or several, with PyTorch, eave's library and, if it is there, torchft."""
import json
import os

import eave_runs
import pytorch_environment


def settings_of(library, torchft):
    """The words before a launcher that set what the ranks need, and the launcher's options that pass it on."""
    packages = [eave_runs.ROOT / "include" / "python", *([torchft] if torchft else [])]
    settings = {"LIBEAVE": library.resolve(), "PYTHONPATH": os.pathsep.join(map(str, packages)), "GLOO_SOCKET_IFNAME": "eth0"}
    passed_on = [word for name in settings for word in ("-x", name)]
    return ["env", "-u", "OMPI_MCA_btl", *(f"{name}={value}" for name, value in settings.items())], passed_on


def run(library, torchft, launcher, words):
    """Runs the ranks and returns rank 0's lines. `torchft`: the folder of its packages, or None."""
    script = eave_runs.ROOT / "bench" / "pytorch_averager.py"
    settings, passed_on = settings_of(library, torchft)
    command = [*settings, *launcher, *(passed_on if launcher else []), pytorch_environment.prepare_pytorch(), script, *words]
    return [json.loads(line) for line in eave_runs.run_command(command, 1200).splitlines() if line.startswith("{")]
