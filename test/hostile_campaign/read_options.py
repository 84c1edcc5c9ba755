"""Reads values of options by the grammar that `eave help` documents, and the options by its tables."""
import math
import re
from fractions import Fraction

from read_run import Refused

NUMBER = r"(\d+(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d+))?"
POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
TIMES = {"ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 1000), "s": 1, "m": 60, "min": 60, "h": 3600}


def _number(text):
    found = re.fullmatch(NUMBER, text)
    if not found or len(found[2] or "") > 4:
        raise Refused(f"{text!r:.60} is no number")
    return Fraction(found[1]) * Fraction(10) ** int(found[2] or 0)


def _split(text):
    found = re.fullmatch(rf"({NUMBER})(.*)", text.strip(" \t"), re.S)
    if not found:
        raise Refused(f"{text!r:.60} begins with no number")
    return _number(found[1]), found[4]


def size(text):
    number, unit = _split(text)
    found = re.fullmatch(r"([kKmMgGtT]?)(i?)(B?)", unit)
    if not found or found[2] and not found[1]:
        raise Refused(f"{unit!r:.40} is no unit of a size")
    decimal = found[3] and not found[2] and found[1]
    return number * (1000 if decimal else 1024) ** POWERS[found[1].lower()]


def seconds(text):
    number, unit = _split(text)
    if unit in TIMES:
        return number * TIMES[unit]
    if number == 0 and not unit:
        return number
    raise Refused(f"{unit!r:.40} is no unit of time")


def rate(text):
    """Returns bytes per second. Letter case tells bits from bytes."""
    number, unit = _split(text)
    found = re.fullmatch(r"([kKMGT]?)(i?)(b/s|bps|B/s|Bps)", unit) or re.fullmatch(r"([kKmMgGtT]?)(i?)([bB]its?(?:/s)?|BITS?(?:/S)?)", unit)
    if number == 0 and not unit:
        return number
    if not found or found[2] and not found[1]:
        raise Refused(f"{unit!r:.40} is no unit of a rate")
    in_bits = found[3] not in ("B/s", "Bps")
    return number * (1024 if found[2] else 1000) ** POWERS[found[1].lower()] / (8 if in_bits else 1)


def whole(text):
    if not re.fullmatch(r"-?\d+", text.strip(" \t")) or not -2**63 <= int(text) < 2**63:
        raise Refused(f"{text!r:.60} is no whole number of 64 bits")
    return int(text)


def real(text):
    bare = text.strip(" \t")
    number = _number(bare.removeprefix("-"))
    if not math.isfinite(_as_float(number)) or number and not 1e-320 < number < 1e308:
        raise Refused(f"{bare:.60} is beyond all numbers")
    return -number if bare.startswith("-") else number


def _as_float(number):
    try:
        return float(number)
    except OverflowError:
        return math.inf


def flag(text):
    if text.strip(" \t") not in ("on", "off", ""):
        raise Refused(f"{text!r:.60} is neither on nor off")


READERS = {"N": whole, "X": real, "SIZE": size, "TIME": seconds, "RATE": rate, "on|off": flag}


def check(hint, text):
    """Raises Refused if the text is no value for `hint`, the word after the option in help."""
    if hint in READERS:
        READERS[hint](text)
    elif "|" in hint and text.strip(" \t") not in hint.split("|"):
        raise Refused(f"{text!r:.60} is none of {hint}")


def catalogue(markdown):
    """Reads the page that help writes. Maps each command to its options, and each option to its hint and default."""
    found, command = {}, None
    for line in markdown.splitlines():
        if line.startswith("## eave "):
            command = found.setdefault(line[8:].strip(), {})
        row = re.match(r"\| `--([a-z0-9-]+) (.*?)` \|(.*?)(?<!\\)\|", line)
        if row and command is not None:
            command[row[1]] = (row[2].replace("\\|", "|"), row[3].strip())
    return found


def config(text):
    """Returns the settings of a configuration file in order, as pairs of name and value. Raises Refused if a line is no
    setting."""
    settings = []
    for line in text.split("\n"):
        bare = line.split("#")[0].strip(" \t\r\v\f")
        if not bare:
            continue
        name, equals, value = bare.partition("=")
        if not equals or not name.strip():
            raise Refused(f"{bare!r:.60} is no setting")
        settings.append((name.strip(), value.strip(" \t\r\v\f")))
    return settings
