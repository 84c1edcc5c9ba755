"""Does the same as average_job.c, over the Python package: vector_job.py OPTIONS STEPS"""
import array
import sys

import eave

COUNT = 10


def main():
    options = dict(word.split("=") for word in sys.argv[1].split())
    x, g = array.array("f", [1 + eave.rank()] * COUNT), array.array("f", [0] * COUNT)
    averager = eave.VectorAverager(x, g, options.pop("communicator"), **options)
    for _ in range(int(sys.argv[2])):
        averager.begin_step(0.1)
        target = array.array("f", [eave.rank() + number for number in array.array("f", [k / 10 for k in range(COUNT)])])
        for k in range(COUNT):
            g[k] = x[k] - target[k]
        if averager.before_update():
            for k in range(COUNT):
                x[k] -= 0.1 * g[k]
        averager.after_update()
    consensus = array.array("f", [0] * COUNT)
    averager.consensus(consensus)
    assert eave.sum_over_ranks([1.0]) == [eave.size()]
    waited, sent, _ = averager.spent
    assert waited >= 0 and (sent > 0) == (eave.size() > 1)
    averager.close()
    if eave.rank() == 0:
        print(*(f"{value!r}" for value in consensus), sep="\n")


try:
    main()
except eave.Error as error:
    if eave.rank() == 0:
        print(f"vector_job: {error}", file=sys.stderr)
    sys.exit(error.code)
