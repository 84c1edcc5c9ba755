# The checks of .ci/run --full. Some of them take hours, and some need root: check_NAME as in each_change.sh.
# shellcheck shell=bash

# Runs a script whose exit code 69 says that it cannot be run here.
run_or_skip() {
  local code=0
  "$@" || code=$?
  if [ "$code" -eq 69 ]; then
    skipped+=("${1##*/}: it cannot be run here; the reason stands above")
    return 0
  fi
  return "$code"
}

# Every test on every number of ranks, file by file; those of threads under ThreadSanitizer, those of the transport with
# MPICH.
check_all_tests() { mpi_launch/install_packages browser install && install_pytorch && install_mypy && ./test/run --werror; }

# As .ci/run makes them for a change of what they test (SOURCES in .ci/record).
check_threads() { mpi_launch/install_packages build data test && ./test/run --tsan --quick --werror; }

# Likewise.
check_mpich() { mpi_launch/install_packages build data test mpich && run_or_skip ./test/run --mpich --quick --werror; }

check_asan() { mpi_launch/install_packages build data test && ./test/run --asan --werror; }

check_fuzz() { mpi_launch/install_packages fuzz && test/fuzz/run --seconds 60; }

# Builds eave alone, as test/run builds it.
build_eave() {
  mpi_launch/install_packages build data test &&
    cmake -S . -B build/test -G Ninja -DEAVE_TESTS=ON -DCMAKE_BUILD_TYPE=Release -DEAVE_WERROR=ON >/dev/null &&
    cmake --build build/test --target eave --parallel "$(nproc)" >/dev/null
}

check_all_faults() { build_eave && test/faults/run --full --eave build/test/eave; }

check_all_hostile() {
  mpi_launch/install_packages hostile && build_eave || return 1
  test/hostile_campaign/install_safetensors.py || true # the campaign says what it went without
  run_or_skip test/hostile --trials 10000 --seed "$(date +%y%m%d)" --eave build/test/eave
}

# On hosts and in Slurm, with the programs of two other MPIs as well.
check_all_cluster() {
  mpi_launch/install_packages cluster && build_eave || return 1
  local mpi
  for mpi in mpich openmpi5; do run_or_skip test/cluster/build_with "$mpi" || return 1; done
  test/cluster/run --full --eave build/test/eave
}

# The language model that people may try first.
check_quickstart_text() { build_eave && mpi_launch/quickstart --text --build build/test && test/check_quickstart --text; }

check_clean_root() { run_or_skip test/clean_root bookworm trixie; }

# Compilers that are newer than the one here.
check_compilers() { run_or_skip test/check_compilers; }

check_gpu_pack() { run_or_skip test/gpu/check_pack; }

# The CUDA that most clusters have: compiled and linked for one architecture, and tested as check_cuda and check_no_gpu do.
check_cuda_12() {
  local toolkit=${XDG_CACHE_HOME:-$HOME/.cache}/eave/cuda-12.4
  mpi_launch/install_packages build test && run_or_skip mpi_launch/install_cuda --toolkit 12.4 "$toolkit" || return 1
  [ -x "$toolkit/bin/nvcc" ] || return 0
  cmake --preset cuda -B build/cuda12 -DEAVE_WERROR=ON -DCUDAToolkit_ROOT="$toolkit" -DCMAKE_CUDA_ARCHITECTURES=90-real -DEAVE_UNITY=ON &&
    cmake --build build/cuda12 --target cuda_tests --parallel "$(nproc)" &&
    ctest --test-dir build/cuda12 -L '^cuda(_plans|-parity)?$' --output-on-failure --no-tests=error --timeout 120
}

# The Python package as people install it, with this machine's MPI and those of PyPI.
check_wheel() {
  mpi_launch/install_packages build wheel && install_pytorch && install_mypy || return 1
  test/python/types_test --pytorch || [ $? -eq 77 ] || return 1
  run_or_skip test/python/wheel_test
}

# The Python package with other libraries from PyPI: trainers, formats, trackers, and models of Kubernetes' jobs.
check_addons() {
  mpi_launch/install_packages build pytorch && build_eave && cmake --build build/test --target eave_library model_logits >/dev/null || return 1
  install_pytorch
  run_or_skip test/addons/run --install
}

check_aarch64() { run_or_skip test/check_aarch64; }

# A toy of each family, in a copy of the sources: found everywhere without another change.
check_extend() { mpi_launch/install_packages build test && run_or_skip test/extend/run; }

# Through how many files easgd's path from its options to the wire runs.
check_path() { mpi_launch/install_packages build costs && run_or_skip test/house/path_test; }
