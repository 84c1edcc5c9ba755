"""A rank of a job of two, of which the last leaves its loop in some WAY: unequal_job.py METHOD WAY

Ways: fewer  the last rank takes fewer steps, then evaluates and closes as the first does
      idle   it takes no step, then sums numbers, evaluates and closes as the first does
      early  it closes its averager after a few steps, and ends
      other  it sums numbers while the first asks for the consensus
      never  it takes no step, evaluates nothing, and does not end
      silent it stops in the middle of its steps
      raise  an exception ends its loop
"""
import array
import sys
import time

import eave

STEPS, FEWER, COUNT = 12, 4, 64
OPTIONS = {"allreduce": {}, "none": {}, "mdownpour": {}, "easgd-tree": {"tau": 2, "groups": 2, "global_tau": 4}}


def run(method, way):
    is_last = eave.rank() == eave.size() - 1
    x, g = array.array("f", [1 + eave.rank()] * COUNT), array.array("f", [0] * COUNT)
    options = dict(OPTIONS.get(method, {"tau": 2}))
    name, _, order = method.partition(":")
    if order:
        options["async_order"] = order
    averager = eave.VectorAverager(x, g, name, lr=0.1, limit_step="1s", **options)
    if is_last and way == "never":
        time.sleep(100)
    for step in range({"fewer": FEWER, "early": FEWER, "idle": 0}.get(way, STEPS) if is_last else STEPS):
        if is_last and step == FEWER and way == "silent":
            time.sleep(100)
        if is_last and step == FEWER and way == "raise":
            raise RuntimeError("the data of step 4 is damaged")
        averager.begin_step(0.1)
        for k in range(COUNT):
            g[k] = x[k] - eave.rank()
        if averager.before_update():
            for k in range(COUNT):
                x[k] -= 0.1 * g[k]
        averager.after_update()
    if way == "idle":
        assert eave.sum_over_ranks([1.0]) == [eave.size()]
    if is_last and way == "other":
        eave.sum_over_ranks([float(COUNT)])
    elif not (is_last and way == "early"):
        into = array.array("f", [0] * COUNT)
        averager.consensus(into)
        assert eave.sum_over_ranks([into[0]])[0] == 2 * into[0], "the consensus differs between the ranks"
    averager.close()


run(*sys.argv[1:])
