"""Builds only the programs that a part's checks start, with preset cuda and for the GPU of this machine."""
import os
import re

import machine
from record import expect_0

# Each build: the name of its check, and its targets.
FOR_FIRST_STEP = ("building what trains", ("eave", "eave_cuda"))
FOR_PARITY = ("building the tests", ("describe_device", "test_cuda_kernels", "test_cuda_parity", "test_cuda", "test_cuda-parity"))
FOR_RANKS = ("building what trains, and libeave.so", ("eave", "eave_cuda", "eave_library"))
FOR_SPEED = ("building what is timed", ("eave", "eave_cuda", "gpu_steps"))
CONFIGURE_S, BUILD_S = 90, 300


def configure_words(gpus):
    """Returns the options of CMake for this machine."""
    architectures = dict.fromkeys(f"{gpu['architecture']}-real" for gpu in gpus)
    words = [f"-DCMAKE_CUDA_ARCHITECTURES={';'.join(architectures)}"] if gpus else []
    for variable, package, header in (("CUDNN_ROOT", "cudnn", "cudnn_version.h"), ("NCCL_ROOT", "nccl", "nccl.h")):
        found = machine.wheel_root(package, header)
        if found and variable not in os.environ:
            words.append(f"-D{variable}={found}")
    # A unity build takes half the time. Warnings are no errors here, because newer compilers have further warnings.
    return words + ["-DEAVE_BENCH=ON", "-DEAVE_UNITY=ON", "-DEAVE_WERROR=OFF"]


def judge_configuring(ended):
    """A judge that finds the CUDA, cuDNN and NCCL of the build in a line that CMakeLists.txt prints."""
    expect_0(ended)
    return "".join(re.findall(r"^-- (CUDA .*)$", ended.text, re.MULTILINE)[-1:])


class Builder:
    """The build folder of a run, and which of its targets could not be built."""

    def __init__(self, folder, patience):
        self.folder, self.patience = folder, patience  # patience: factor of the usual time limits
        self.is_configured = False
        self.missing = {}  # maps a target to the reason why it is missing

    def build(self, record, kind):
        """Builds the targets of one kind, and configures first if needed. Returns whether they were built."""
        name, targets = kind
        configure = ["cmake", "--preset", "cuda", "-B", self.folder, *configure_words(record.facts["machine"]["gpus"])]
        command = ["cmake", "--build", self.folder, "--parallel", len(os.sched_getaffinity(0)), "--target", *targets]
        if not self.is_configured:
            self.is_configured = record.run("configuring", configure, CONFIGURE_S * self.patience, judge_configuring)
        built = self.is_configured and record.run(name, command, BUILD_S * self.patience)
        if not record.planning:
            record.facts["versions"] |= machine.library_versions(self.folder / "CMakeCache.txt")
        if not built:
            why = f"see '{name if self.is_configured else 'configuring'}'"
            self.missing |= {target: f"{target} was not built: {why}" for target in targets}
            record.leave_out(why, record.section)
        return built

    def require(self, *targets):
        """Returns why checks that need these targets cannot run, or "" if they can."""
        return next((self.missing[target] for target in targets if target in self.missing), "")

    def program(self, name):
        return self.folder / name
