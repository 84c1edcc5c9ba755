"""The sandbox of one trial, and the changes in it."""
import hashlib
import os
import pathlib
import shutil
import stat

PRECIOUS = {"thesis.tex": b"\\documentclass{article}\n" * 40, "keys/id_ed25519": b"not a key\n", "data.bin": bytes(range(256)) * 8}


class Place:
    """Directories of a trial: home, tmp, cwd (where eave starts), in (inputs), out (outputs), precious."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        for name in ("home", "tmp", "cwd", "in", "out"):
            (self.root / name).mkdir(parents=True)
        for where in ("precious", "home/documents"):
            for name, content in PRECIOUS.items():
                path = self.root / where / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)

    def __getattr__(self, name):
        if name in ("home", "tmp", "cwd", "out", "precious"):
            return self.root / name
        raise AttributeError(name)

    @property
    def inputs(self):
        return self.root / "in"

    def environment(self):
        return {"HOME": str(self.home), "TMPDIR": str(self.tmp)}

    def remove(self):
        shutil.rmtree(self.root, ignore_errors=True)


def _describe(path):
    status = os.lstat(path)
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFLNK:
        return ("link", os.readlink(path))
    if kind == stat.S_IFREG:
        with open(path, "rb") as file:
            return ("file", status.st_size, hashlib.blake2b(file.read(), digest_size=16).hexdigest())
    return ("directory" if kind == stat.S_IFDIR else "other", stat.S_IMODE(status.st_mode))


def snapshot(root):
    """Maps every name below `root` to a description of the file. Links are not followed."""
    found = {}
    for directory, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, root)] = _describe(path)
    return found


def changes(before, after, allowed):
    """Returns, in words, all differences outside of the allowed paths."""
    def is_allowed(name):
        return any(name == each or name.startswith(each.rstrip("/") + "/") for each in allowed)

    told = []
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name) or is_allowed(name):
            continue
        what = "appeared" if name not in before else "went away" if name not in after else "changed"
        told.append(f"{name!r} {what}")
    return told
