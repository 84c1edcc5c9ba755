"""F9: like F8, but in a batch job that Slurm warns, requeues and starts again."""
import os
import subprocess

import f01
import lab

EPOCHS = 120

# Does the same as the batch script of mpi_launch. Slurm would send a signal 60 s before the time limit. Here the script
# sends itself this signal once the run has begun. Exit code 75 of the run means "put me back into the queue".
SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output={directory}/log
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun -np 2 {eave} {words} --resume auto &
job=$!
trap 'kill -USR1 $job' USR1
if [ "${{SLURM_RESTART_COUNT:-0}}" -lt 1 ]; then (until [ -s {run_dir}/metrics.jsonl ]; do sleep 0.05; done; sleep {moment}; kill -USR1 $$) & fi
wait $job; code=$?
if [ $code -gt 128 ]; then wait $job; code=$?; fi
echo "restart ${{SLURM_RESTART_COUNT:-0}} ended with $code"
if [ $code -eq 75 ]; then scontrol requeue $SLURM_JOB_ID; fi
exit $code
"""


def find_slurmlab():
    place = lab.lab_program("slurmlab")
    if subprocess.run(["sh", "-c", "command -v slurmctld && command -v munged"], capture_output=True).returncode != 0:
        raise lab.Skip("no slurmctld or munged: install slurm-wlm and munge")
    return place


def requeue(place):
    program = find_slurmlab()
    environment = {**os.environ, "NETLAB_NAME": f"eave-f9-{os.getpid()}", "SLURMLAB_NAME": f"eave-f9-{os.getpid()}"}
    call = lambda *words: subprocess.run([program, *words], env=environment, text=True, capture_output=True)
    expected, seconds = f01.undisturbed(place.eave, "easgd", 2, epochs=EPOCHS)
    up = call("up", "2", "--cpus", "1")
    try:
        if up.returncode != 0:
            raise lab.Skip(f"slurmlab does not start: {(up.stdout + up.stderr)[-300:]}")
        words = " ".join(f"'{word}'" for word in map(str, f01.words(place.run_dir(), "easgd", epochs=EPOCHS)))
        script = place.directory / "job.sh"
        script.write_text(SCRIPT.format(directory=place.directory, run_dir=place.run_dir(), eave=place.eave, words=words,
                                        moment=f"{place.random.uniform(0, 0.4) * seconds:.2f}"))
        ended = call("run", "--timeout", "240", str(script))  # Slurm lets a job wait for 120 s after it is put back
        log = (place.directory / "log").read_text() if (place.directory / "log").exists() else ""
        lab.require("restart 0 ended with 75" in log and "restart 1 ended with 0" in log,
                    f"slurmlab run ended with {ended.returncode}: {ended.stdout[-500:]}{ended.stderr[-500:]}{log[-1000:]}")
        lab.require(lab.digest(place.run_dir()) == expected, "other bits than undisturbed")
    finally:
        call("down")


FAULTS = [lab.Fault("F9", "the same under Slurm: requeued, resumed, one log, one metrics file, the same bits",
                    requeue, quick=0, full=5)]
