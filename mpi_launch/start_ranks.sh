# shellcheck shell=bash
# To be sourced by what starts ranks on several hosts: with the mpirun of Open MPI 4, Open MPI 5 or MPICH, or with
# Slurm's srun. Ranks and hosts come from MPI; nothing here tells eave about them.
#
# Before its version 4.4, bash with set -u takes an empty array for one that is not set: hence ${x[@]+"${x[@]}"}.

# Takes the words of a script's command line: behind -- a program of your own with its words, otherwise words for eave.
# Without any, those at the top of the script stay. Sets is_own to yes if there is a program of your own.
# shellcheck disable=SC2034
take_words() {
  is_own=no
  if [ "${1-}" = -- ]; then
    if [ $# -lt 2 ]; then
      printf '%s\n' "$0: no program behind --: expected -- python3 train.py" >&2
      return 64
    fi
    is_own=yes program=$2 words=("${@:3}")
  elif [ $# -gt 0 ]; then
    words=("$@")
  fi
}

# Prints which MPI an mpirun belongs to: openmpi4, openmpi5 or mpich. False where it is none of them.
kind_of_mpi() {
  local version
  version=$("$1" --version 2>/dev/null) || return 1
  case $version in
    *"(Open MPI) 4."*) printf 'openmpi4\n' ;;
    *"(Open MPI) "*) printf 'openmpi5\n' ;;
    *HYDRA* | *Hydra*) printf 'mpich\n' ;;
    *) return 1 ;;
  esac
}

# By itself Open MPI waits minutes for a host that is gone. With this it ends the job, with 205, some 11 s after the last
# word from there. MPICH has no such setting: there eave's own --limit-step ends it.
notice_lost_hosts() {
  local setting
  for setting in time=5 intvl=2 probes=3; do
    export "OMPI_MCA_oob_tcp_keepalive_$setting" "PRTE_MCA_oob_tcp_keepalive_$setting"
  done
}

# Sets pass_on to the options by which an mpirun of this kind gives EAVE_* to ranks on other hosts, and to a program of
# your own the variables by which Python finds eave. MPICH gives all.
pass_on_settings() {
  local kind=$1 name
  pass_on=()
  if [ "$kind" = mpich ]; then return; fi
  for name in "${!EAVE_@}"; do pass_on+=(-x "$name"); done
  if [ "${is_own-no}" = no ]; then return; fi
  for name in LIBEAVE LIBEAVE_MPI PYTHONPATH; do
    if [ -n "${!name+set}" ]; then pass_on+=(-x "$name"); fi
  done
}

# Settings that name places may be others on each host: there a host's own is in force, and only where it has none, the one
# of the host that starts the ranks. mpirun could only put that in place of all: a shell in front of eave fills in what is
# missing. Sets before_eave to its words, none where there is nothing to fill in, and takes the settings out of the environment.
# shellcheck disable=SC2034
fill_in_places() {
  local name values=() script=
  before_eave=()
  for name in EAVE_CONFIG EAVE_DATA_DIR EAVE_PLUGIN EAVE_STAGE_TO; do # options_of_files in src/app/run/run_settings.cpp
    if [ -z "${!name+set}" ]; then continue; fi
    values+=("${!name}")
    script+="export $name=\"\${$name-\$${#values[@]}}\"; "
    unset "$name"
  done
  if [ ${#values[@]} -eq 0 ]; then return; fi
  before_eave=(sh -c "${script}shift ${#values[@]}; exec \"\$@\"" sh "${values[@]}")
}

# Makes every rank see all GPUs of its node. eave then gives each another one. If Slurm hid the others (--gpus-per-task,
# --gpu-bind), NCCL would not find NVLink between them, and CUDA-aware MPI could not map their memory.
# mpirun starts a process of its own on each other node, by srun, which would give it, and so all ranks there, the GPUs of
# one task (--gpus-per-task), or ask for those of the whole job (--gpus): ask for all of a node. With other numbers of tasks
# on one node than on another that cannot be said.
see_all_gpus() {
  if [ -n "${SLURM_GPUS_ON_NODE:-}" ]; then
    unset SLURM_TRES_BIND
    export SLURM_GPU_BIND=none
  fi
  if [ -z "${SLURM_GPUS_PER_TASK:-}${SLURM_GPUS:-}" ] || [ -z "${SLURM_GPUS_ON_NODE:-}" ] ||
    [[ ${SLURM_TASKS_PER_NODE:-} == *,* ]]; then return; fi
  unset SLURM_GPUS_PER_TASK SLURM_TRES_PER_TASK SLURM_GPUS
  export SLURM_GPUS_PER_NODE=$SLURM_GPUS_ON_NODE
}

# Sets start to the words that start a torchrun on each node of a Slurm job, which starts a rank for each of the node's
# tasks. They meet on the first node. torchrun hands SIGUSR1 on to its ranks, and gives them 30 s to end.
start_torchruns() {
  local first tasks=${SLURM_TASKS_PER_NODE%%[(]*} # "2(x3)": 2 on each of 3 nodes
  if [[ ${SLURM_TASKS_PER_NODE:-} == *,* ]]; then
    printf '%s\n' "$0: torchrun starts as many ranks on each node, and here are $SLURM_TASKS_PER_NODE: set --ntasks-per-node" >&2
    return 78
  fi
  first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
  export PET_SIGNALS_TO_HANDLE=SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1 # torchrun's --signals_to_handle
  see_all_gpus
  start=(srun "--ntasks=$SLURM_NNODES" --ntasks-per-node=1 --kill-on-bad-exit=1
    "--cpus-per-task=$((${SLURM_CPUS_PER_TASK:-1} * tasks))"
    "$@" "--nnodes=$SLURM_NNODES" "--nproc-per-node=$tasks" "--rdzv-id=$SLURM_JOB_ID"
    --rdzv-backend=c10d "--rdzv-endpoint=$first:$((20000 + SLURM_JOB_ID % 10000))" --no-python)
}

# In a Slurm job: sets start to the words that start a rank for each of its tasks. Arguments: mpirun [OPTION...],
# srun [OPTION...], or torchrun [OPTION...] for a program of your own. False, with the reason on standard error, where
# they cannot.
# shellcheck disable=SC2034
start_in_slurm() {
  local kind
  if [ -z "${SLURM_NTASKS:-}" ]; then
    printf '%s\n' "$0: there is no Slurm job here: start it with sbatch" >&2
    return 64
  fi
  notice_lost_hosts
  case ${1##*/} in
    srun)
      see_all_gpus
      # A rank that ends badly takes the others with it. srun does not take over the job's processors by itself.
      start=("$@" --kill-on-bad-exit=1 ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"})
      ;;
    torchrun) start_torchruns "$@" ;;
    *)
      if ! kind=$(kind_of_mpi "$1"); then
        printf '%s\n' "$0: '$1' is neither Open MPI's nor MPICH's mpirun on $(hostname): load the module of the MPI that" \
          "eave was built with, or change launcher at the top" >&2
        return 69
      fi
      pass_on_settings "$kind"
      see_all_gpus
      start=("$@" -np "$SLURM_NTASKS" ${pass_on[@]+"${pass_on[@]}"})
      ;;
  esac
}

has_terminal() { { : </dev/tty; } 2>/dev/null; }

# Sets job to the process of a command. On a terminal the job gets a process group of its own: otherwise a Ctrl-C would
# reach it twice, from the terminal and from hand_on, and mpirun ends without ado at the second one. Without a terminal it
# stays in the script's group, by which batch systems and other programs may find it.
start_job() {
  if has_terminal; then set -m; fi
  # The terminal may be set to stop other groups than its own if they write to it (stty tostop).
  (trap '' TTOU && exec "$@") </dev/null &
  job=$!
  set +m
}

# False if Ctrl-Z would stop the script for good, as under ssh -t host mpi_launch/run-hosts: no shell is there to continue it.
# A shell that can gives each of its jobs a process group other than its own, which has the number of the session.
can_go_on() {
  local line group session
  if ! has_terminal || ! [ -r "/proc/$$/stat" ]; then return 0; fi
  read -r line <"/proc/$$/stat"
  read -r _ _ group session _ <<<"${line##*) }" # behind the program's name, which may hold blanks
  [ "$group" != "$session" ]
}

# Runs a command, hands signals on to it, and returns its exit code. A shell's wait ends with each signal: hence the loop.
# Sets was_asked to yes where SIGUSR1 was among them, was_ended where another was that asks for an end.
run_and_hand_on_signals() {
  local job code name is_signalled=yes on_stop=''
  was_asked=no was_ended=no
  # Ctrl-Z, and fg or bg behind it.
  if can_go_on; then on_stop='hand_on TSTP; kill -STOP $$; hand_on CONT'; fi
  start_job "$@"
  for name in TERM INT HUP; do
    # shellcheck disable=SC2064 # the name of now
    trap "was_ended=yes; hand_on $name" "$name"
  done
  # shellcheck disable=SC2064 # ignored where it is empty
  trap "$on_stop" TSTP
  trap 'was_asked=yes; hand_on USR1' USR1
  while [ "$is_signalled" = yes ]; do
    is_signalled=no code=0
    wait "$job" || code=$?
  done
  trap - USR1 TSTP TERM INT HUP
  return "$code"
}

hand_on() {
  is_signalled=yes
  kill "-$1" "$job" 2>/dev/null || true # it may have ended just now
}

# Prints a path as eave reads it: ~/ is the home directory.
whole_path() {
  # shellcheck disable=SC2088 # no word of the shell
  case $1 in "~/"*) printf '%s\n' "$HOME/${1#"~/"}" ;; *) printf '%s\n' "$1" ;; esac
}

# Prints the value that an option has in a file of options (--config), nothing if it has none there.
value_in_file() {
  local name=$1 file=$2 blanks='[[:space:]]*'
  if [ ! -f "$file" ]; then return 0; fi
  sed -n $'s/^\xef\xbb\xbf//'"; s/#.*//; s/$blanks\$//; s/^$blanks$name$blanks=$blanks//p" "$file" | tail -n 1
}

# Prints the value of an option among words for eave; false without one.
value_in_words() {
  local option=$1 value='' code=1
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      "$option="*) value=${1#*=} code=0 ;;
      "$option") shift && value=${1-} code=0 ;;
    esac
    if [ $# -gt 0 ]; then shift; fi
  done
  printf '%s\n' "$value"
  return "$code"
}

# True if the last of these words for eave sets a flag to on: --dry-run, --dry-run=on or --dry-run on.
flag_in_words() {
  local option=$1 value=off
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      "$option") value=on && if [ "${2-}" = off ]; then value=off; fi ;;
      "$option="*) value=${1#*=} ;;
    esac
    shift
  done
  [ "$value" = on ]
}

# True if eave only shows what it would do. As for eave, words count before the environment, and that before the file.
only_shows() {
  local command=$1 file=$2 option=dry-run chosen=${EAVE_DRY_RUN-}
  shift 2
  if [ "$command" = train ]; then option=print-config chosen=${EAVE_PRINT_CONFIG-}; fi
  case " $* " in *" --$option"[\ =]*) flag_in_words "--$option" "$@" && return 0 || return 1 ;; esac
  [ "${chosen:-$(value_in_file "$option" "$file")}" = on ]
}

# Sets directory to that of a run or a comparison, empty where the words name none, and result to the file that is there
# when all is done. As for eave, words count before the environment, and that before a file of options. To be called
# before fill_in_places, which takes EAVE_CONFIG out of the environment.
find_directory() {
  local name word file value
  directory='' result=''
  case ${1-} in
    train) name=run-dir result=summary.json ;;
    compare) name=output result=report.html ;;
    *) return 0 ;;
  esac
  # Only all parts together have a report, and the words below make none.
  for word in "$@"; do
    case $word in --part | --part=* | --help | -h) return 0 ;; esac
  done
  file=$(value_in_words --config "$@") || file=${EAVE_CONFIG-}
  if only_shows "$1" "$(whole_path "$file")" "${@:2}"; then return 0; fi
  if [ "$name" = output ] && [ -n "${EAVE_PART-}$(value_in_file part "$(whole_path "$file")")" ]; then return 0; fi
  directory=$(value_in_file "$name" "$(whole_path "$file")")
  case $name in
    run-dir) directory=${EAVE_RUN_DIR-$directory} ;;
    output) directory=${EAVE_OUTPUT:-${directory:-runs/compare}} ;;
  esac
  if value=$(value_in_words "--$name" "$@"); then directory=$value; fi
  directory=$(whole_path "$directory")
}

# Prints the exit code of a program of your own: that of what has started it, unless it was asked to leave and that tells
# nothing. torchrun ends with 1 whatever its ranks end with, and srun may then end those of other nodes by SIGTERM: 143.
# 0 of an mpirun may be false, as for code_of_run: a program that had finished ends with 0 when it is started again. srun's
# 0 is true, also of the torchruns that it starts.
code_of_own() {
  local code=$1
  if [ "$was_asked" = yes ]; then
    if [ "$code" -eq 0 ] && [[ ${start[0]-} != *srun ]]; then code=75; fi
    if [[ $code == @(1|143) && " ${start[*]-} " == *" --rdzv-backend="* ]]; then code=75; fi
  fi
  printf '%d\n' "$code"
}

# Prints the exit code of a run or a comparison, behind find_directory: that of mpirun, unless it is 0 and eave has not said
# that it is done. Open MPI 5 ends with 0 when it has lost a host, MPICH also after SIGUSR1. Then it is 75 where the run was
# asked to leave, else 69.
code_of_run() {
  local code=$1
  if [ "${is_own-no}" = yes ]; then
    code_of_own "$code"
    return
  fi
  if [ "$code" -eq 0 ] && [ -d "$directory" ] && [ ! -e "$directory/$result" ]; then
    code=69
    if [ "$was_asked" = yes ]; then code=75; fi
  fi
  printf '%d\n' "$code"
}

# True if a run or a comparison in this directory has ever taken a step: a line about its steps, or a checkpoint.
has_progress() {
  local file
  for file in "$1"/metrics.jsonl "$1"/*/metrics.jsonl; do
    if [ -f "$file" ] && grep -q -E '^\{"type":"(step|evaluation)"' "$file"; then return 0; fi
  done
  compgen -G "$1/checkpoint/step-*" >/dev/null
}

# True if no turn has added a step yet, so that a further one would presumably end alike. A run that has some may well lose
# a node while it starts again. Of a program of your own this cannot be told, nor where Slurm or a person asked it to leave.
is_in_vain() {
  local code=$1 directory=$2
  [ "${is_own-no}" = no ] && [[ $code != 75 && $code != 138 ]] && [ "$was_asked" = no ] && [ -n "$directory" ] &&
    ! has_progress "$directory"
}

# In a Slurm job: runs the words for eave behind those that start ranks ("${start[@]}"), and puts the job back into the
# queue where its code is one of those in again_after, at most most_turns times; not where somebody ended it (scancel), nor
# where no turn has added a step or a checkpoint. Ends the script with the code.
run_until_done() {
  local program=$1 code=0 turn=$((${SLURM_RESTART_COUNT:-0} + 1)) directory result
  shift
  find_directory "$@"
  run_and_hand_on_signals "${start[@]}" "$program" "$@" || code=$?
  code=$(code_of_run "$code")
  printf 'turn %d on %s ended with %d\n' "$turn" "${SLURM_JOB_NODELIST:-}" "$code"
  # shellcheck disable=SC2154 # they stand at the top of each script
  if [[ " ${again_after[*]-} " == *" $code "* && $was_ended = no ]]; then
    if [ "$turn" -ge "$most_turns" ]; then
      printf 'no further turn: most_turns is %d\n' "$most_turns"
    elif is_in_vain "$code" "$directory"; then
      printf 'no further turn: none has added a step to %s; mend what ended it, and submit the job again\n' "$directory"
    else
      scontrol requeue "$SLURM_JOB_ID" || printf 'it could not be put back into the queue: submit it again\n'
    fi
  fi
  exit "$code"
}
