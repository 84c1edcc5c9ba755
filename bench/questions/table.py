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


def interval(of_case, accuracies):
    """`of_case`: mean, low and high of judged.judge; None if a run diverged. "85.3 (84.9 to 85.7)"."""
    return percent(accuracies) if of_case is None else bounded([each and 100 * each for each in of_case], 1)


def bounded(of_case, digits):
    """"0.383 (0.371 to 0.395)" of mean, low and high; only the mean if the bounds are None."""
    mean_of, low, high = (each if each is None else f"{each:.{digits}f}" for each in of_case)
    return mean_of if low is None else f"{mean_of} ({low} to {high})"


def difference(lead):
    """"-6.0 (-7.1 to -4.9)" of judged.lead, with a star if both are told apart."""
    if lead is None:
        return ""
    points, low, high = lead["points"]
    return f"{points:+.1f} ({low:.1f} to {high:.1f})" + (" *" if lead["is_apart"] else "")
