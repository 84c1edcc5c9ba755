"""Prints tables in Markdown."""
import statistics


def show(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|" + "|".join("---" for _ in titles) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def mean(accuracies):
    """The mean accuracy over one case's seeds; None if one of them diverged."""
    return None if None in accuracies else statistics.mean(accuracies)


def percent(accuracies):
    if None in accuracies:
        return f"diverged ({accuracies.count(None)} of {len(accuracies)})"
    low, high = (f"{100 * each:.1f}" for each in (min(accuracies), max(accuracies)))
    return f"{100 * mean(accuracies):.1f}" + (f" ({low} - {high})" if len(accuracies) > 1 else "")
