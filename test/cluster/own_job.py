"""A program as people write it, without PyTorch: averages a vector by easgd, saves and ends with 75 on SIGUSR1, and goes
on from what it saved. Rank 0 writes the end's values.

    own_job.py FOLDER STEPS SECONDS_A_STEP
"""
import array
import os
import pathlib
import signal
import socket
import sys
import time

import eave

FOLDER, STEPS, PAUSE = pathlib.Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
asked = []
signal.signal(signal.SIGUSR1, lambda *_: asked.append(True))
me, saved = eave.rank(), FOLDER / f"saved-{eave.rank()}"
values, gradient, first = array.array("d"), array.array("f", [0.0] * 8), 0
if saved.exists():
    values.frombytes(saved.read_bytes())
    first = int(values.pop())
x = array.array("f", values or [1.0 + me] * 8)
print(f"rank {me} on {socket.gethostname()} of {eave.size()} begins with step {first}", flush=True)
with eave.VectorAverager(x, gradient, "allreduce") as averager:
    for step in range(first, STEPS):
        averager.begin_step(0.1)
        gradient[:] = array.array("f", [value - me - place for place, value in enumerate(x)])
        if averager.before_update():
            x[:] = array.array("f", [value - 0.1 * slope for value, slope in zip(x, gradient)])
        averager.after_update()
        time.sleep(PAUSE)
        if eave.sum_over_ranks([len(asked)])[0]:  # one rank may have the signal a step before another
            saved.write_bytes(array.array("d", [*x, step + 1]).tobytes())
            break
    else:
        step = STEPS
eave.stop()
if step < STEPS:
    sys.exit(75)
if me == 0:
    (FOLDER / "end").write_text(" ".join(value.hex() for value in x))
