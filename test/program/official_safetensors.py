"""Prints a model as the official safetensors package reads it.

The output is JSON: {"metadata": {...}, "arrays": {name: bytes in hexadecimal}}.

Exit codes: 0 read - 69 the package is missing (test/hostile_campaign/install_safetensors.py installs it).
"""
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "hostile_campaign"))
import install_safetensors

sys.path.append(str(install_safetensors.directory()))
try:
    from safetensors import safe_open
except ImportError:
    sys.exit(69)

with safe_open(sys.argv[1], framework="np") as file:
    arrays = {name: file.get_tensor(name).tobytes().hex() for name in file.keys()}
    print(json.dumps({"metadata": file.metadata(), "arrays": arrays}))
