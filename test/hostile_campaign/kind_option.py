"""Trials of options on the command line, in a file and in the environment, and of sizes, times, rates and lists."""
import re

import bases as good
import kind_model
import mutations
import read_options
import read_run
from calls import Call
from judge import DOCUMENTED
from plan import Plan, on_success

SPELLINGS = {
    "RATE": ["bit", "kbit", "mbit", "gbit", "Mbit", "Gbit/s", "mbit/s", "b/s", "kb/s", "Kb/s", "Mb/s", "mb/s", "Gb/s", "gb/s", "GB/s", "MB/s",
             "kB/s", "B/s", "bps", "kbps", "Mbps", "Gbps", "gbps", "GBps", "GBPS", "MBps", "MiB/s", "GiB/s", "Kib/s", "Mibit/s", "Tb/s", "TB/s",
             "Tbit/s", "g", "G", "", "bit/min", "Gb/h", " Gb/s", "Gb /s"],
    "SIZE": ["", "B", "k", "K", "kB", "KB", "KiB", "kib", "kb", "m", "M", "MB", "MiB", "mb", "Mb", "G", "GB", "GiB", "T", "TiB", "TB", "P", "x",
             " k", "bit", "i", "iB"],
    "TIME": ["ns", "us", "ms", "s", "m", "min", "h", "", "S", "Min", "MS", "d", "sec", "minutes", " s", "M", "µs"],
}
NUMBERS = ["0", "1", "2", "10", "1.5", "0.25", "100", "12.5", "1e3", "1e-3", "007", "64"]
ODD_NUMBERS = ["-1", "+1", "1e400", "nan", "inf", "0x10", "1,5", "1_0", ".5", "5.", "1e", "", "--", "1e-400", "9" * 30, "١", "1 0", "∞"]
TRAIN = ["train", *good.SYNTHETIC, *good.MODEL]


def _number(rng):
    return rng.choice(NUMBERS) if rng.random() < 0.75 else rng.choice(ODD_NUMBERS)


def quantity(rng, hint):
    return _number(rng) + (rng.choice(SPELLINGS[hint]) if hint in SPELLINGS else "")


def value_of(rng, hint):
    """Draws a value for an option with this hint. Often the option cannot take it."""
    kind = rng.random()
    if hint in SPELLINGS and kind < 0.8:
        return quantity(rng, hint)
    if hint in ("N", "X") and kind < 0.8:
        return rng.choice([_number(rng), str(rng.choice(mutations.INTEGERS)), rng.choice(mutations.REALS)])
    if "|" in hint and kind < 0.8:
        word = rng.choice(hint.split("|"))
        return rng.choice([word, word, word.upper(), word[:-1], word + "x", " " + word, word + " ", f"{word},{word}"])
    return rng.choice([text for text in mutations.TEXTS if "\0" not in text and len(text) < 1000])


def _catalogue(base):
    return read_options.catalogue((base.directory / "options.md").read_text(encoding="utf-8"))


def _printed(out):
    """Reads the output of --print-config. Maps each name to its value and the value's source."""
    found = {}
    for line in out.decode("utf-8", "replace").splitlines():
        row = re.fullmatch(r"(?:# )?([a-z0-9-]+) = (.*?)\s+# (.*)", line)
        if row:
            found[row[1]] = (row[2], row[3])
    return found


def _check_print(given, hints, source):
    """Each accepted value must fit the documented grammar, and eave must print it as it was given."""
    @on_success
    def check(outcomes):
        told, printed = [], _printed(outcomes[0].out)
        for name, text in given.items():
            try:
                read_options.check(hints[name][0], text)
            except read_options.Refused as why:
                told.append(f"SILENT: --{name} is taken, by the documents it is none: {why}")
            value, where = printed.get(name, ("", "nowhere"))
            if value != text.strip() and not (text == "" and value == "on") and hints[name][0] != "PATH":
                told.append(f"SILENT: --{name} {text!r} is printed as {value!r}")
            if source not in where:
                told.append(f"--{name} came from the {source}, and from {where!r} it is said")
        return told
    return check


def _typeable(text):
    return "#" not in text and "\n" not in text and "\r" not in text


def _give(rng, place, command, name, text):
    """Gives the option in one of three ways. Returns the way, the words and the environment of the call."""
    source = rng.choice(["command line", "environment", "file"])
    if source == "command line":
        return source, [*command, *([f"--{name}={text}"] if rng.random() < 0.7 else [f"--{name}", text])], {}
    if source == "environment":
        return source, command, {"EAVE_" + name.upper().replace("-", "_"): text}
    (place.inputs / "train.ini").write_text(f"{name} = {text}\n", encoding="utf-8")
    return source, [*command, "--config", place.inputs / "train.ini"], {}


def make_option(rng, place, base):
    hints = _catalogue(base)["train"]
    name = rng.choice(sorted(set(hints) - {"config", "print-config", "plugin"}))
    text = value_of(rng, hints[name][0])
    source, words, environment = _give(rng, place, ["train", "--print-config"], name, text)
    names = ["--" + name, name.upper().replace("-", "_"), "train.ini"] + ([text] if text else [])
    check = _check_print({name: text}, hints, source) if _typeable(text) and text.strip() else None
    if text in ("--help", "-h") and words[-1] == text:
        check = _check_help
    return Plan([Call(words, environment)], f"--{name} {text[:60]!a} from the {source}", names, [], check)


def _check_help(outcomes):
    """If --help is a word by itself, eave prints help and does nothing else, wherever it stands: `--epochs --help`
    too."""
    if outcomes[0].code != 0 or not outcomes[0].out.startswith(b"usage:"):
        return [f"--help ends with {outcomes[0].code}, and prints {outcomes[0].out[:40]!r}"]
    return []


FIELDS = {"network-rate": ("bytes_per_second", read_options.rate, "RATE"), "host-rate": ("host_bytes_per_second", read_options.rate, "RATE"),
          "network-delay": ("delay_seconds", read_options.seconds, "TIME"), "message-time": ("message_seconds", read_options.seconds, "TIME")}


def make_quantity(rng, place, base):
    """Gives a size, time or rate to a command that prints it back as a number."""
    if rng.random() < 0.3:
        return _make_size(rng, place)
    name = rng.choice(sorted(FIELDS))
    field, read, hint = FIELDS[name]
    text, table = quantity(rng, hint), place.out / "plan.json"
    words = ["plan", base.run("allreduce"), "--ranks", "2", "--communicators", "allreduce", f"--{name}={text}", "--json", table]

    @on_success
    def check(outcomes):
        found, wanted = read_run.parse(table.read_bytes())["network"][field], float(read(text))
        if abs(found - wanted) > 1e-6 * max(abs(found), abs(wanted)):
            return [f"SILENT: --{name} {text} is taken as {found}, by the documents it is {wanted}"]
        return []
    return Plan([Call(words)], f"--{name} {text!a}", ["--" + name], ["out/plan.json"], check)


def _make_size(rng, place):
    text = quantity(rng, "SIZE")

    @on_success
    def check(outcomes):
        rows = re.findall(rb"^ +(\d+) +(\d+) +float", outcomes[0].out, re.M)
        wanted = int(read_options.size(text)) // 4 * 4
        return [] if rows and int(rows[0][0]) == wanted else [f"SILENT: --min-bytes {text} is taken as {rows[:1]}, not {wanted}"]
    words = ["bench-comm", f"--min-bytes={text}", "--max-bytes", "128MiB", "--factor", 1000000, "--iterations", 1, "--warmup", 0,
             "--transport", "threads"]
    return Plan([Call(words)], f"--min-bytes {text!a}", ["--min-bytes", "--max-bytes"], [], check, bounds={"memory_mib": 1200, "cpu_s": 10})


LISTS = ["1,2", "1, 2", " 1,2 ", "1,,2", "1;2", "1 2", "2,1", "1,1", "1,", ",1", "1,x", "1,-2", "0,1", "1,2.0", "1,99999999999999999999", "", ",",
         "1,\t2", "1,2\n"]


def make_list(rng, place, base):
    """Gives --ranks of plan a list: parts between commas, with or without blanks."""
    text, table = rng.choice(LISTS), place.out / "plan.json"
    words = ["plan", base.run("allreduce"), f"--ranks={text}", "--communicators", "allreduce", "--json", table]

    @on_success
    def check(outcomes):
        found = [row["ranks"] for row in read_run.parse(table.read_bytes())["plans"][0]["rows"]]
        parts = [part.strip() for part in text.split(",")]
        wanted = [int(part) for part in parts if part.isdecimal()]
        return [] if found == wanted and len(parts) == len(wanted) else [f"SILENT: --ranks {text!r} is taken as {found}"]
    is_whole = bool(re.fullmatch(r"\s*[1-9]\d?\s*(,\s*[1-9]\d?\s*)*", text)) and text not in ("1,1", "2,1")
    return Plan([Call(words, promised=is_whole)], f"--ranks {text!a}", ["--ranks"], ["out/plan.json"], check)


def _settings(rng, hints):
    """Returns a valid configuration file. Its lines fit together, in a random order."""
    lines = ["# a run", "tau = 4", "communicator = easgd", "batch=16", "lr = 0.1   # large", "seed = 7", "", "momentum = 0.5",
             "evaluate-every = 0", "log-every = 10", "shape-delay = 1ms"]
    rng.shuffle(lines)
    return "\n".join(lines) + "\n"


def make_config(rng, place, base):
    hints = _catalogue(base)["train"]
    data, what = mutations.damage_text(rng, _settings(rng, hints))
    path = place.inputs / "train.ini"
    path.write_bytes(data)

    @on_success
    def check(outcomes):
        try:
            settings = dict(read_options.config(data.decode("utf-8")))
            for name, text in settings.items():
                read_options.check(hints[name][0], text)
        except (UnicodeDecodeError, KeyError) as why:
            return [f"SILENT: a configuration file is taken that is none by the documents: {why!r}"]
        printed = _printed(outcomes[0].out)
        return [f"SILENT: {name} = {text!r} in the file is printed as {printed.get(name)}" for name, text in settings.items()
                if printed.get(name, ("",))[0] != text]
    return Plan([Call(["train", "--config", path, "--print-config"])], what, ["train.ini", *("--" + name for name in hints)], [], check)


def make_number(rng, place, base):
    """Starts a real run with one odd number. eave trains as its option says, or refuses it."""
    hints, command = _catalogue(base)["train"], rng.choice(["train", "train", "train", "plan"])
    numbers = sorted(name for name, (hint, _) in hints.items() if hint in ("N", "X", "SIZE", "TIME") and name not in (
        "threads", "shape-compute", "shape-delay", "shape-jitter", "ranks", "image-size", "image-test-share", "image-cache", "decode-threads"))
    name, run = rng.choice(numbers), place.out / "run"
    text = rng.choice(["-1", "0", "1", "1e-30", "1e30", "0.5", "2", "9223372036854775807", "-0.5", "4294967296", "1e9"])
    text += {"SIZE": rng.choice(["", "GB"]), "TIME": rng.choice(["s", "h"])}.get(hints[name][0], "")
    method = _method_of(rng, name, base)
    words = [*TRAIN, "--max-steps", 4, "--batch", 8, *method, f"--{name}={text}", "--run-dir", run]
    return Plan([Call(words, wall_s=90)], f"--{name} {text} {' '.join(map(str, method))}", ["--" + name, name], ["out/run"],
                _check_number(run, name, text), codes=DOCUMENTED | {76}, bounds={"cpu_s": 20, "memory_mib": 300})


# The run has synthetic images. An option of other data or of a transport is refused by its name.
WORDS_OF_DATA_AND_TRANSPORTS = {"cifar10", "fashion-mnist", "image-folder", "mnist", "synthetic", "text", "tcp", "tcp-flat",
                                "threads", "tokens", "auto"}


def _method_of(rng, name, base):
    """Returns options with which the option `name` has an effect, from the column "with" of the documents."""
    page = (base.directory / "options.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `--{name} [^\n]*\| `([a-z0-9, -]+)` \|$", page, re.M)
    if not row:
        return []
    word = rng.choice(row[1].split(", "))
    if word in WORDS_OF_DATA_AND_TRANSPORTS:
        return []
    if word in ("sgd", "adamw", "muon"):
        return ["--optimizer", word] + (["--lr", "0.001"] if word != "sgd" and name != "lr" else [])
    if word == "top-k":
        return ["--compression", word, "--transport", "threads", "--ranks", 2]
    return ["--communicator", word] + ([] if word in ("asgd", "mvasgd") else ["--transport", "threads", "--ranks", 2])


def _check_number(run, name, text):
    @on_success
    def check(outcomes):
        told = []
        try:
            config = read_run.read_json(run / "config.json")
            lines = read_run.read_metrics(run / "metrics.jsonl")
            read_run.read_json(run / "summary.json")
        except OSError as why:
            return [f"SILENT: a run ends with 0 and leaves what is not as documented: {why}"]
        values = config.get("options", config)
        if values.get(name) != text:
            told.append(f"SILENT: config.json says {name} = {values.get(name)!r}, {text!r} was given")
        if not any(line["type"] == "end" for line in lines):
            told.append("SILENT: a run ends with 0, and its metrics have no end")
        return told
    return check


FOREIGN = ["PORT", "SERVICE_HOST", "SERVICE_PORT", "PORT_80_TCP", "PORT_80_TCP_ADDR", "PORT_80_TCP_PROTO", "SERVICE_PORT_HTTP", "ROOT", "HOME",
           "VERSION", "DIR", "BIN", "LIB", "EBROOT", "ENV", "PATH", "MODULE", "XYZZY", "", "_", "ÄÖ", "A" * 300, "0", "CLUSTER_QUOTA"]
MISSPELT = {"BATHC": "batch", "EPOCS": "epochs", "COMUNICATOR": "communicator", "RUN_DIRR": "run-dir", "MAX_STEP": "max-steps",
            "OPTIMISER": "optimizer", "MOMENTUMM": "momentum", "CHECKPOINT_EVRY": "checkpoint-every"}


def make_environment(rng, place, base):
    if rng.random() < 0.3:
        name = rng.choice(sorted(MISSPELT))
        return Plan([Call(["train", "--print-config"], {"EAVE_" + name: "5"})], f"EAVE_{name}, misspelt", ["EAVE_" + name], [],
                    kind_model.check_refused(f"EAVE_{name} is passed, which is near --{MISSPELT[name]}"))
    names = ["EAVE_" + each for each in rng.sample(FOREIGN, rng.randrange(1, 4))]
    value = rng.choice(["tcp://10.0.0.1:80", "80", "/opt/eave", "1.0", "", "\x1b[2J", "x" * 5000])
    words = rng.choice([["train", "--print-config"], [*TRAIN, "--max-steps", 1], ["doctor"], ["summary", base.run("allreduce")],
                        ["plan", base.run("allreduce")]])

    def check(outcomes):
        warnings = [line for line in outcomes[0].err.splitlines() if line.startswith(b"eave: warning:") and b"EAVE_" in line]
        return [f"{len(warnings)} warnings of foreign variables, not one at most"] if len(warnings) > 1 else []
    return Plan([Call(words, dict.fromkeys(names, value), promised=True)], f"foreign variables {', '.join(names)[:100]}", ["EAVE_"], [], check)


def make_tilde(rng, place, base):
    """A path that begins with ~ leads home, or eave refuses it. eave must not make a folder with ~ in its name."""
    path = rng.choice(["~/run", "~", "~root/eave-run", "~nobody-of-that-name/run", "~+/run"])
    source, words, environment = _give(rng, place, [*TRAIN, "--max-steps", 1], "run-dir", path)
    if path == "~root/eave-run":
        words, environment = ["train", "--print-config", f"--run-dir={path}"], {}

    def check(outcomes):
        odd = [each.name for each in place.cwd.iterdir() if each.name.startswith("~")]
        told = [f"SILENT: makes a folder {odd[0]!r}"] if odd else []
        if outcomes[0].code == 0 and path == "~/run" and not (place.home / "run" / "summary.json").exists():
            told.append("SILENT: ~/run is not in the home directory")
        return told
    return Plan([Call(words, environment)], f"--run-dir {path} from the {source}", ["--run-dir", "RUN_DIR"],
                ["home/run", "home"] if path == "~" else ["home/run"], check)
