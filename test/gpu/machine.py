"""Finds out what this machine has: GPU, driver, compilers and libraries, with their versions."""
import datetime
import importlib.util
import os
import pathlib
import platform
import re
import shutil
import subprocess

from record import ROOT


def ask(*command):
    """Returns the output of a command, or "" if it is missing, fails, or has not ended after a minute."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""


def first_line(text):
    return text.splitlines()[0].strip() if text else ""


def ask_gpu():
    """Returns name, driver, compute capability such as "90", memory and UUID of each GPU."""
    lines = ask("nvidia-smi", "--query-gpu=name,driver_version,compute_cap,memory.total,uuid", "--format=csv,noheader")
    rows = [[word.strip() for word in line.split(",")] for line in lines.splitlines()]
    return [{"name": row[0], "driver": row[1], "architecture": row[2].replace(".", ""), "memory": row[3], "uuid": row[4]}
            for row in rows if len(row) == 5]


def visible(gpus):
    """Returns the words by which CUDA_VISIBLE_DEVICES names the GPUs that this run may use. nvidia-smi ignores that
    variable and shows more."""
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    if given is None:
        return [str(number) for number in range(len(gpus))]
    return [word.strip() for word in given.split(",") if word.strip()]


def gpu_of(machine):
    """Returns what nvidia-smi says of the first GPU that this run may use, or {} if there is no GPU."""
    words = machine["visible"] or ["0"]
    named = [gpu for number, gpu in enumerate(machine["gpus"]) if str(number) == words[0] or gpu["uuid"].startswith(words[0])]
    return (named or machine["gpus"] or [{}])[0]


def use_one_gpu(machine):
    """Makes the programs of most checks see one GPU. CUDA then counts GPUs as nvidia-smi does."""
    os.environ.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    if machine["visible"]:
        os.environ["CUDA_VISIBLE_DEVICES"] = machine["visible"][0]


def find_wheels():
    """Returns the folders of NVIDIA's Python packages. A user's own packages may lie apart from the system's."""
    found = importlib.util.find_spec("nvidia")
    return [pathlib.Path(place) for place in found.submodule_search_locations or []] if found else []


def cuda_of_nvcc():
    """Returns the first number of nvcc's version, such as "13", or "" if there is no nvcc."""
    found = re.search(r"release (\d+)", ask("nvcc", "--version"))
    return found.group(1) if found else ""


def wheel_root(package, header):
    """Returns the folder of cudnn or nccl among python3's packages, or None. It passes over a package for another CUDA
    version than nvcc's, which would load a second cuBLAS."""
    made_for = f"nvidia_{package}_cu{cuda_of_nvcc() or '*'}-*.dist-info"
    for wheels in find_wheels():
        if (wheels / package / "include" / header).exists() and any(wheels.parent.glob(made_for)):
            return wheels / package
    return None


def find_runtime_libraries():
    """Returns folders of libraries that cuDNN opens by name (nvrtc). If cuDNN comes from a Python package, a program
    other than python3 would not find them."""
    folders = [wheels / name / "lib" for wheels in find_wheels() for name in ("cu13", "cuda_nvrtc", "cublas")]
    return [str(folder) for folder in folders if folder.is_dir()]


def version_in(header, pattern):
    """Returns the version numbers that a header defines, joined by dots."""
    found = re.findall(pattern, header.read_text(errors="replace")) if header.exists() else []
    return ".".join(found[:3])


def library_versions(cache):
    """Returns the versions of cuDNN and NCCL as the build found them."""
    text = cache.read_text() if cache.exists() else ""
    folders = dict(re.findall(r"^(cuDNN_INCLUDE_DIR|NCCL_INCLUDE_DIR):\w+=(.*)$", text, re.MULTILINE))
    cudnn = pathlib.Path(folders.get("cuDNN_INCLUDE_DIR", "none")) / "cudnn_version.h"
    nccl = pathlib.Path(folders.get("NCCL_INCLUDE_DIR", "none")) / "nccl.h"
    return {"cudnn": version_in(cudnn, r"#define CUDNN_(?:MAJOR|MINOR|PATCHLEVEL)\s+(\d+)"),
            "nccl": version_in(nccl, r"#define NCCL_(?:MAJOR|MINOR|PATCH)\s+(\d+)")}


def version_of_pytorch():
    """Returns the version of python3's PyTorch, such as "2.11.0+cu130", or "" if there is none. It does not load
    PyTorch, which takes seconds."""
    found = importlib.util.find_spec("torch")
    file = pathlib.Path(found.origin).parent / "version.py" if found and found.origin else None
    text = file.read_text() if file and file.exists() else ""
    return "".join(re.findall(r"""^__version__\b[^'"]*['"]([^'"]+)""", text, re.MULTILINE)[:1])


def commit():
    """Returns the commit of this tree. If the tree was copied without its history, test/gpu/pack noted the commit."""
    carried = ROOT / os.environ.get("EAVE_GPU_PACK", ".gpu_pack") / "commit"
    known = ask("git", "-C", str(ROOT), "describe", "--always", "--dirty")
    return known or (carried.read_text().strip() if carried.exists() else "unknown")


def bytes_of_tree():
    """Returns the bytes of the files that git tracks or would track, or 0 if there is no git."""
    names = ask("git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return sum((ROOT / name).lstat().st_size for name in names if name and os.path.lexists(ROOT / name))


def bytes_of_pack():
    folder = ROOT / os.environ.get("EAVE_GPU_PACK", ".gpu_pack")
    return sum(path.lstat().st_size for path in folder.rglob("*")) if folder.is_dir() else 0


def describe():
    """Returns everything that a reader of the record needs to know about the machine."""
    gpus = ask_gpu()
    cpu = re.search(r"^model name\s*:\s*(.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": {"gpus": gpus, "visible": visible(gpus), "cpu": cpu.group(1) if cpu else platform.machine(),
                    "cores": len(os.sched_getaffinity(0)), "system": platform.platform(),
                    "libc": " ".join(platform.libc_ver())},
        "versions": {"compiler": first_line(ask("c++", "--version")),
                     "nvcc": re.sub(r".*release ([\d.]+).*", r"\1", ask("nvcc", "--version"), flags=re.S),
                     "cmake": first_line(ask("cmake", "--version")),
                     "ninja": first_line(ask("ninja", "--version")), "mpi": first_line(ask("mpirun", "--version")),
                     "python": platform.python_version(), "pytorch": version_of_pytorch()},
    }
