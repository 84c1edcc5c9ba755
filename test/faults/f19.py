"""F19: one rank makes another communication call than the other ranks. The job ends and says which rank called what."""
import lab


def out_of_step(place):
    program = place.eave.parent / "out_of_step_job"
    if not program.exists():
        raise lab.Skip(f"no {program}: build the tests, with MPI")
    seed = place.random.randrange(1 << 30)
    job = lab.Job(["mpirun", "-np", str(2 + place.index % 3), str(program), str(seed), "."], place.directory)
    job.wait(30)
    lab.require_code(job, 70)
    messages = job.messages()
    lab.require(len(messages) == 1 and "out of step" in messages[0] and messages[0].count("rank ") >= 2
                and messages[0].count("(call ") == 2, f"no message that names two calls, seed {seed}: {job.tail()}")
    written = list(place.directory.glob("calls-rank-*.json"))
    lab.require(len(written) == 2 + place.index % 3, f"{len(written)} records of calls, seed {seed}")
    return {"seconds": job.seconds}


FAULTS = [
    lab.Fault("F19", "ranks call different things: 70, both calls and ranks named, no hang", out_of_step, quick=6, full=50),
]
