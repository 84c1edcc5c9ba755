"""Checks that eave refuses ranks whose options or data differ under mpirun, and finds a replica whose bits changed."""
import os
import re
import shutil
import subprocess

import eave_runs
from trial import NETWORK

FLIP, ORDER, RATE, SEED = "a bit of a replica flips", "another order of the data", "another rate", "another seed"
# The expected exit code, and a pattern that the message must match.
EXPECTED = {FLIP: (70, "rank 1 on .* no longer has the bits of the other 3 ranks"), ORDER: (78, "content of the training set is"),
            RATE: (78, "--lr is 0.01 on rank 0, 0.02 on rank 1"), SEED: (78, "--seed is 1 on rank 0, 2 on rank 1")}


def ask(eave, data, other_data):
    """Runs each case and returns its exit code and message. Without mpirun runs only the case with a flipped bit."""
    words = [eave, "train", "--data", "fashion-mnist", "--model", NETWORK, "--epochs", "1", "--max-steps", "40", "--progress", "off",
             "--data-dir"]
    cases = {FLIP: [*words, data, "--transport", "threads", "--ranks", "4", "--inject-fault", "1:5:flip-bit:7:20",
                    "--replica-hash-every", "10"]}
    if shutil.which("mpirun"):
        for name, mine, other in ((ORDER, [], [*words, other_data]),
                                  (RATE, ["--lr", "0.01"], [*words, data, "--lr", "0.02"]),
                                  (SEED, ["--seed", "1"], [*words, data, "--seed", "2"])):
            cases[name] = ["mpirun", "--oversubscribe", "-np", "1", *words, data, *mine, ":", "-np", "1", *other]
    inherited = {name: value for name, value in os.environ.items() if name not in eave_runs.OURS}
    found = {}
    for name, command in cases.items():
        ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={
            **inherited, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        said = next((line for line in ended.stderr.splitlines() if line.startswith("eave: ") and "warning" not in line), "")
        found[name] = {"code": ended.returncode, "says": said}
    return found


def check(found):
    for name, each in found.items():
        code, pattern = EXPECTED[name]
        if each["code"] != code or not re.search(pattern, each["says"]):
            yield f"{name}: to be refused with {code} and '{pattern}', ended with {each['code']} and: {each['says'] or 'nothing'}"
