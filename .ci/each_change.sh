# The checks that .ci/run makes for each change: check_NAME returns 0 where all is well, and adds to `skipped` what this
# machine cannot do.
# shellcheck shell=bash

quickstart_limit_s=300
clang_format_version=14

# Most objects are the same in the builds of several checks. With relative paths build/test, build/mpich and build/cuda find
# those of one another.
use_compiler_cache() {
  mpi_launch/install_packages cache
  command -v ccache >/dev/null || return 0
  export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
  export CCACHE_BASEDIR=$PWD CCACHE_SLOPPINESS=pch_defines,time_macros # else it keeps nothing that used precompiled headers
}

# Seconds that each of this machine's cores has been kept from it since it started, by others on the same host.
stolen_seconds() { awk -v hz="$(getconf CLK_TCK)" -v cores="$(nproc)" '/^cpu / { print int($9 / hz / cores) }' /proc/stat; }

# Builds in the tree of the tests, which then have all rooms.
check_quickstart() {
  local started=$SECONDS stolen
  stolen=$(stolen_seconds)
  env -u EAVE_LAB ./mpi_launch/quickstart --build build/test || return 1 # EAVE_LAB: a place of tests, no option of eave
  local took=$((SECONDS - started))
  stolen=$(($(stolen_seconds) - stolen))
  test/check_quickstart || return 1
  say "quickstart took $took s, $stolen s of them without its cores, of at most $quickstart_limit_s s"
  [ $((took - stolen)) -le "$quickstart_limit_s" ]
}

# Files of the project by name, tracked or about to be.
list_files() {
  if git rev-parse --git-dir >/dev/null 2>&1; then
    git ls-files --cached --others --exclude-standard -- "$@"
  else
    local pattern
    for pattern in "$@"; do find . -path ./build -prune -o -name "$pattern" -type f -print; done
  fi
}

# Versions of clang-format differ in what they make of a few constructs: only one is the judge.
find_clang_format() {
  local program
  for program in "clang-format-$clang_format_version" clang-format; do
    if [[ "$("$program" --version 2>/dev/null)" == *"version $clang_format_version."* ]]; then
      say "$program"
      return
    fi
  done
}

# Shows where files are not formatted; false if there is one. Several at a time: each start of the program costs more than
# a file.
check_files_formatted() {
  local program=$1 complaints
  shift
  complaints=$(mktemp)
  if printf '%s\0' "$@" | xargs -0 -n 100 -P "$(nproc)" "$program" --dry-run --Werror >"$complaints" 2>&1; then
    say "$# files are formatted"
    rm -f "$complaints"
    return
  fi
  head -n 60 "$complaints"
  say "not formatted; to repair: $program -i" "$(grep -oE '^[^ :]+:[0-9]+:[0-9]+: error' "$complaints" | cut -d : -f 1 | sort -u | paste -sd ' ')"
  rm -f "$complaints"
  return 1
}

check_format() {
  local program files scripts
  mpi_launch/install_packages format || return 1
  mapfile -t scripts < <(grep -lE '^#!.*bash|^# shellcheck shell=bash' mpi_launch/* test/* test/*/* .ci/* bench/* 2>/dev/null)
  shellcheck -x "${scripts[@]}" || return 1
  say "${#scripts[@]} shell scripts pass shellcheck"
  mapfile -t files < <(list_files '*.cpp' '*.h' '*.cu' '*.cuh' '*.js')
  program=$(find_clang_format)
  if [ -n "$program" ]; then
    check_files_formatted "$program" "${files[@]}"
  else
    skipped+=("formatting: clang-format $clang_format_version is not to be had here")
  fi
}

# Counts, so the same on a busy machine and on another.
check_costs() {
  local code=0
  mpi_launch/install_packages build costs || return 1
  bench/check_costs --build build/test || code=$?
  if [ "$code" -eq 69 ]; then
    skipped+=("costs: they cannot be judged here; the reason stands above")
    return 0
  fi
  return "$code"
}

# Each in its smallest form: what must hold whatever the figures. Needs python3. The first, whose runs are half of the work,
# beside the others; question 6 compares speeds, so check_timed has it.
check_questions() {
  local code=0 first log=build/question-1.log
  mpi_launch/install_packages costs && build_programs || return 1
  bench/questions/run --quick --eave build/test/eave 1 >"$log" 2>&1 &
  first=$!
  bench/questions/run --quick --eave build/test/eave 2 3 4 5 7 8 9 || code=1
  wait "$first" || code=1
  cat "$log"
  return "$code"
}

# Builds for GPUs, for the oldest kind that a release knows, with the tests that need no GPU: so nvcc compiles as fast as it
# can (-Ofc), not to fast code, as --full gpu_pack does. Returns 69 if the toolkit cannot be fetched.
build_for_gpus() {
  local toolkit=${XDG_CACHE_HOME:-$HOME/.cache}/eave/cuda-13.0
  mpi_launch/install_packages build test || return 1
  mpi_launch/install_cuda "$toolkit" || return
  cmake --preset cuda -DEAVE_WERROR=ON -DCUDAToolkit_ROOT="$toolkit" -DCMAKE_CUDA_ARCHITECTURES=75-real -DCMAKE_CUDA_FLAGS=-Ofc=max -DEAVE_UNITY=ON &&
    cmake --build --preset cuda --target test_cuda test_cuda_plans --parallel "$(nproc)" || return 1
}

# Makes the tests with this label, in a build for GPUs.
test_for_gpus() {
  local label=$1 code=0
  shift
  build_for_gpus || code=$?
  if [ "$code" -eq 69 ]; then
    skipped+=("$label: the CUDA toolkit cannot be fetched here; the reason stands above")
    return 0
  fi
  [ "$code" -eq 0 ] &&
    ctest --test-dir build/cuda -L "^$label$" --output-on-failure --no-tests=error --timeout 120 --parallel "$(nproc)" "$@"
}

# Compiles the module for GPUs, links it, and looks for cuDNN's plans. --full gpu_pack and cuda_12 compile for newer kinds,
# and what needs a GPU to run. cuda_12 also looks for all plans: here those in bf16 that need not be deterministic are
# looked for on the H200 alone, because a deterministic plan is a plan too.
check_cuda() { test_for_gpus cuda_plans -E '_of_the_zoo/(a100|b200)_bf16$'; }

# What programs built for GPUs do on a machine without one. They must end within a minute, so not at the lowest priority:
# there, ranks that wait for others starve them.
check_no_gpu() { test_for_gpus cuda; }

# From PyPI, for the tests of the Python package and of exported models; it stays for the next time.
install_pytorch() {
  export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$HOME/.cache}
  mkdir -p "$XDG_CACHE_HOME"
  if ! compgen -G "$XDG_CACHE_HOME/eave/pytorch-*/complete" >/dev/null && [ "$(df --output=avail -k "$XDG_CACHE_HOME" | tail -n 1)" -lt $((10 << 20)) ]; then
    skipped+=("tests with PyTorch: it takes 4 GB of disk, and less than 10 are free in $XDG_CACHE_HOME")
    return 0
  fi
  mpi_launch/install_packages pytorch
  timeout 600 python3 bench/pytorch_environment.py ||
    skipped+=("tests with PyTorch: it cannot be installed from PyPI here, or not within 10 minutes")
}

# From PyPI likewise, for the types of the Python package.
install_mypy() {
  mpi_launch/install_packages wheel
  timeout 300 python3 test/python/tools.py || skipped+=("types of the Python package: mypy cannot be installed from PyPI here")
}

# From PyPI likewise, for the tokens of the reference.
install_tokenizers() {
  timeout 300 python3 test/data/tokens/reference_packages.py ||
    skipped+=("tokens of the reference: tokenizers cannot be installed from PyPI here")
}

prepare_tests() { mpi_launch/install_packages browser install && install_pytorch && install_mypy && install_tokenizers; }

# The tests, with these arguments of test/run. Those under ThreadSanitizer and with MPICH only if what they test has
# changed since .ci/run --full has passed with them: their builds take a fifth of the whole time.
test_quickly() {
  local without=() check
  for check in threads:tsan mpich:mpich; do
    .ci/record --holds "${check%:*}" || continue
    say "left out, since .ci/run --full ${check%:*} has passed with these sources: test/run --${check#*:}"
    without+=("--without-${check#*:}")
  done
  ./test/run --quick --werror "${without[@]}" "$@"
}

# What all tests need, and nothing is run.
check_build() { prepare_tests && test_quickly --build; }

# All but those that compare times with bounds.
check_tests() { prepare_tests && test_quickly --alone no; }

# What compares times, with nothing beside it, and again what failed or was late beside others.
check_timed() {
  local code=0
  test_quickly --alone only || code=1
  build_programs || return 1
  test/faults/run --quick --alone only --later build/late-faults --eave build/test/eave || code=1
  mpi_launch/install_packages cluster &&
    { test/cluster/run --quick --alone only --later build/late-cluster --eave build/test/eave || code=1; }
  mpi_launch/install_packages costs && bench/questions/run --quick --eave build/test/eave 6 || code=1
  return "$code"
}

# The programs that other checks try, in the tree of the tests. Once, because a build of the tests may follow beside them.
are_programs_built=no
build_programs() {
  [ "$are_programs_built" = no ] || return 0
  local log=build/test/programs.log
  mpi_launch/install_packages build data test && mkdir -p build/test || return 1
  if ! { cmake -S . -B build/test -G Ninja -DEAVE_TESTS=ON -DCMAKE_BUILD_TYPE=Release -DEAVE_WERROR=ON -DEAVE_UNITY=ON &&
    cmake --build build/test --target eave eave_library eave_cuda_emulated out_of_step_job --parallel "$(nproc)"; } >"$log" 2>&1; then
    tail -n 30 "$log"
    return 1
  fi
  are_programs_built=yes
}

# What clusters do to runs, a few times each, to the program that the tests have built.
check_faults() { build_programs && test/faults/run --quick --alone no --later build/late-faults --eave build/test/eave; }

# Inputs that are damaged or made to do harm: the same 300 each time, to the same program.
check_hostile() {
  local code=0
  mpi_launch/install_packages hostile && build_programs || return 1
  test/hostile_campaign/install_safetensors.py || true # the campaign says what it went without
  test/hostile --trials 300 --eave build/test/eave || code=$?
  if [ "$code" -eq 69 ]; then
    skipped+=("hostile: it cannot be run here; the reason stands above")
    return 0
  fi
  return "$code"
}

# As people start it on several hosts and in Slurm; the same program. Skips what this machine cannot be made into.
check_cluster() {
  if ! mpi_launch/install_packages cluster; then
    skipped+=("cluster: ssh, Slurm and what makes hosts of one machine cannot be installed here")
    return 0
  fi
  build_programs && test/cluster/run --quick --alone no --later build/late-cluster --eave build/test/eave
}
