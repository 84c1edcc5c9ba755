"""Times eave beside PyTorch: runs bench/gpu_vs_pytorch and keeps its table in the record."""
import json
import shutil

from record import FAILED, LEFT_OUT, PASSED, ROOT, Wrong, last_words

COMPILE_S = 120  # limit of torch.compile for one case; if time is left at the end, it gets more
ENDING_S = 15    # reserved for a measurement that still runs when the time is over


def check_speed(record, builder):
    table = builder.program("gpu-speed-table.json")
    if not record.planning:
        table.unlink(missing_ok=True)
    seconds = 400 if record.planning else int(max(10, record.left_s() - ENDING_S))
    command = [shutil.which("python3") or "python3", ROOT / "bench" / "gpu_vs_pytorch",
               "--program", builder.program("gpu_steps"), "--python", shutil.which("python3") or "python3",
               "--output", table, "--seconds", seconds, "--compile-seconds", COMPILE_S]

    def take(line=""):
        """Copies the table into the record, so that each row is in the record as soon as it is in the table."""
        if line:
            print(f"        {line}", end="", flush=True)
        if table.exists():
            record.tables["speed"] = json.loads(table.read_text())
            record.write()

    def judge(ended):
        take()
        if ended.code != 0:
            raise Wrong(f"exit code {ended.code}: {last_words(ended.text)}")
        found = record.tables["speed"]
        return f"{len(found['measured'])} of {len(found['measured']) + len(found['missing'])} numbers measured"

    # The program ends at its own limit (--seconds), before the part's. 1e6 means that the check has no other limit.
    record.run("eave beside PyTorch", command, 1e6 if not record.planning else seconds, judge,
               {"EAVE_COMMIT": record.facts["commit"]}, take)
    judge_table(record, record.tables.get("speed"))


def judge_table(record, table):
    """Notes two checks: whether the numbers meet their goals, and whether all of them could be measured."""
    if record.planning or table is None:
        record.note("goals", LEFT_OUT, 0, "nothing was measured")
        record.note("the whole table", LEFT_OUT, 0, "nothing was measured")
        return
    missed, missing, met = table["missed"], table["missing"], len(table["met"])
    if missed or met:
        record.note("goals", FAILED if missed else PASSED, 0,
                    f"{met} met, {len(missed)} missed" + (f", the worst: {missed[0]}" if missed else ""))
    else:
        record.note("goals", LEFT_OUT, 0, "no number that has a goal was measured")
    record.note("the whole table", LEFT_OUT if missing else PASSED, 0,
                f"{len(missing)} numbers were not measured, the first: {missing[0]}" if missing else "")
