"""Finds the learning rate of a method: the best of those tried, not at an edge of them."""

MOST_WIDENINGS = 4


def find(worth_of, rates, may_widen=True):
    """`worth_of(rate)`: how good a run with this rate ended, more is better. `rates` grow. If the best one lies at an edge, the next
    one out is tried too. Returns the best rate, and what all that were tried were worth."""
    rates, worth = list(rates), {}
    most = len(rates) + MOST_WIDENINGS
    for rate in rates:  # grows
        worth[rate] = worth_of(rate)
        if len(worth) == len(rates) < most and may_widen:
            rates += beyond(worth)
    return {"rate": max(worth, key=worth.get), "tried": dict(sorted(worth.items()))}


def beyond(worth):
    """The next rate out, by the ratio 1, 3, 10, if the best of these lies at an edge; at most one."""
    tried = sorted(worth)
    best = tried.index(max(tried, key=worth.get))
    if 0 < best < len(tried) - 1:
        return []
    edge, down = (tried[0], 0.1) if best == 0 else (tried[-1], 1)
    return [float(f"{edge * down * (3 if is_one(edge) else 10 / 3):.1g}")]


def is_one(rate):
    return f"{rate:.0e}".startswith("1")
