"""The claims of Zhang, Choromanska and LeCun 2015 about their figures 2 to 4, and whether each holds here.

A claim holds if the rule of significance tells its cases apart in the claimed order, for each pair. It says nothing if a case
has one seed.
"""
import judged

PERIODS, TEST_SAMPLES = (1, 10, 64), 10000
HOLDS, FAILS, UNSHOWN = "holds", "not told apart in this order", "not shown: one seed, or not run"


class Ends:
    """The accuracies at the end, of each seed, by method, p and tau."""

    def __init__(self, eave, rows):
        self.eave = eave
        self.by_case = {(row["method"], row["p"], row["tau"]): [each or 0 for each in row["final"]] for row in rows}

    def at(self, name, ranks=1, period=1):
        return self.by_case.get((name, ranks, period), [])

    def best(self, name):
        """Of the method's runs with p = 4, or with one worker."""
        return max((values for (method, ranks, _), values in self.by_case.items() if method == name and ranks in (1, 4)), key=mean)

    def claim(self, text, pairs):
        """`pairs`: (better, worse) accuracies. All have to be told apart."""
        said = [judged.is_above(self.eave, better, worse, TEST_SAMPLES) for better, worse in pairs]
        holds = UNSHOWN if None in said else HOLDS if all(said) else FAILS
        return {"claim": text, "holds": holds,
                "accuracy": ", ".join(f"{percent(better)} against {percent(worse)}" for better, worse in pairs)}


def mean(values):
    return sum(values) / len(values)


def percent(values):
    return f"{100 * mean(values):.1f}" if values else "-"


def losses(values, others):
    """How much less `others` are, seed by seed, moved so that none is below 0."""
    return [0.5 + (a - b) / 2 for a, b in zip(values, others)]


def judge(eave, rows):
    ends = Ends(eave, rows)
    pour, elastic = ([ends.at(name, 4, tau) for tau in PERIODS] for name in ("DOWNPOUR", "EASGD"))
    alone = [ends.at(name) for name in ("SGD", "MSGD")]
    others = [*alone, *(ends.best(name) for name in ("DOWNPOUR", "MDOWNPOUR", "EASGD"))]
    return [
        ends.claim("DOWNPOUR gets worse with longer tau, from 1 to 10 and 64", [(pour[0], pour[1]), (pour[0], pour[2])]),
        ends.claim("EASGD loses less than DOWNPOUR from tau 1 to 64 (losses halved, plus 50)",
                   [(losses(pour[0], pour[2]), losses(elastic[0], elastic[2]))]),
        ends.claim("with tau 10 and 64 EASGD ends above DOWNPOUR", [(elastic[1], pour[1]), (elastic[2], pour[2])]),
        ends.claim("EAMSGD is the best of the paper's methods at p = 4", [(ends.best("EAMSGD"), each) for each in others]),
        ends.claim("EASGD and EAMSGD end above one worker with SGD and MSGD",
                   [(ends.best(name), each) for name in ("EASGD", "EAMSGD") for each in alone]),
        *(ends.claim(f"with more workers, 4 to 16, {name} gains", [(ends.at(name, 16, 10), ends.at(name, 4, 10))])
          for name in ("EASGD", "EAMSGD")),
        ends.claim("DOWNPOUR does not: it falls", [(ends.at("DOWNPOUR", 4, 10), ends.at("DOWNPOUR", 16, 10))]),
    ]
