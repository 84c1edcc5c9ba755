"""F1, F2: a rank is killed at a random moment. The run is started again and ends with the same bits."""
import signal
import time

import lab

RANKS = 3
EPOCHS = 12
EVERY = 50  # steps


def training(method, epochs, data=lab.SMALL):
    return ["train", *data, "--epochs", epochs, "--evaluate-every", "0.5", *lab.METHODS[method]]


def words(run_dir, method, *more, epochs=EPOCHS, data=lab.SMALL):
    return [*training(method, epochs, data), "--run-dir", run_dir, *more]


def undisturbed(eave, method, ranks=RANKS, epochs=EPOCHS, data=lab.SMALL):
    """Returns digest and duration of an undisturbed run, which saves no checkpoint between evaluations."""
    return lab.undisturbed(eave, ranks, *training(method, epochs, data))


def kill_and_resume(place, rank):
    """Kills a rank and gives the same command again until the run is done, as a batch system would."""
    again, index = divmod(place.index, len(lab.METHODS))
    method, data = sorted(lab.METHODS)[index], (lab.SMALL, lab.TEXT)[(index + again) % 2]  # each method with both in turns
    expected, seconds = undisturbed(place.eave, method, data=data)
    command = words(place.run_dir(), method, "--checkpoint-every", EVERY, "--resume", "auto", data=data)
    job = place.start(RANKS, command)
    moment = place.random.uniform(0.3, 1.2) * seconds
    job.wait_until(lambda: time.monotonic() - job.started > moment)
    if job.is_running():
        job.signal(job.ranks().get(rank, job.pid), signal.SIGKILL)
    job.wait(20)
    figures = {"exit_s": job.seconds - moment}
    if job.code != 0:
        kept = lab.checkpoints(place.run_dir())
        saved = int(kept[-1].name.removeprefix("step-")) if kept else 0
        if saved:
            figures["lost_steps"] = max(0, lab.last_step(place.run_dir()) - saved)
        lab.require_code(place.run(RANKS, command), 0)
    lab.require(lab.digest(place.run_dir()) == expected, f"{method}: other bits than undisturbed")
    return figures


FAULTS = [
    lab.Fault("F1", "kill -9 of a random rank, started again: the same bits",
              lambda place: kill_and_resume(place, place.random.randrange(RANKS)), quick=4, full=200, lane="times"),
    lab.Fault("F2", "kill -9 of rank 0, which keeps the files and a shard of the center: the same bits",
              lambda place: kill_and_resume(place, 0), quick=4, full=50,
              lane="times"),
]
