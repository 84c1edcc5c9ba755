# shellcheck shell=bash
# To be sourced: reads a list of hosts, and looks on each, before anything is started there, for what mpirun would fail of
# without saying where. Whoever sources it sets remote_shell, the words that run a command on a host, answer_s, the
# seconds that a host has to answer, and start_on, which makes the command that starts ranks on hosts.
# shellcheck disable=SC2154

# Sets hosts and slots from a file with a line for each host, "NAME" or "NAME slots=N"; # begins a comment. Returns 66
# without a file, 65 where a line is something else; the reason stands on standard error.
read_hosts() {
  local file=$1 line number=0
  hosts=() slots=()
  if [ ! -f "$file" ] || [ ! -r "$file" ]; then
    tell "there is no file $file: write the name of a host on each line, and slots=N behind it for N ranks"
    return 66
  fi
  while IFS= read -r line || [ -n "$line" ]; do
    number=$((number + 1))
    line=${line%%#*}
    if [[ $line =~ ^[[:space:]]*$ ]]; then continue; fi
    if ! [[ $line =~ ^[[:space:]]*([A-Za-z0-9][A-Za-z0-9._-]*)([[:space:]]+slots=([1-9][0-9]{0,3}))?[[:space:]]*$ ]]; then
      tell "$file:$number: '$line': expected NAME or NAME slots=N"
      return 65
    fi
    if [[ " ${hosts[*]-} " == *" ${BASH_REMATCH[1]} "* ]]; then
      tell "$file:$number: host ${BASH_REMATCH[1]} stands there twice: give it slots=N"
      return 65
    fi
    hosts+=("${BASH_REMATCH[1]}") slots+=("${BASH_REMATCH[3]:-1}")
  done <"$file"
  if [ ${#hosts[@]} -eq 0 ]; then
    tell "$file names no host"
    return 65
  fi
}

is_this_host() {
  case $1 in localhost | "$(hostname)" | "$(hostname | cut -d. -f1)") return 0 ;; esac
  return 1
}

# The line that tells it: Open MPI's first, MPICH's second.
version_of_mpi() { "$1" --version 2>&1 | sed -nE 's/^ *//;/Version|Open MPI\)/{s/  +/ /g;p;q}'; }

# The MPI that a program finds when it starts, by the second line of --version; false, with the reason, where it does not start.
mpi_of_program() {
  local answer
  if ! answer=$("$1" --version 2>&1); then
    printf '%s\n' "${answer##*$'\n'}"
    return 1
  fi
  answer=${answer#*$'\n'with }
  printf '%s\n' "${answer//$'\t'/ }"
}

# Prints a host's own facts: a line with the time, the program's checksum, the MPI that it finds, the version of its mpirun.
# A program of the user's own ("yes" as the last word) is only looked for.
answer_of_host() {
  local found file
  cd -- "$1" 2>/dev/null || { printf 'no folder %s\n' "$1" && return; }
  if [ "$4" = yes ]; then
    command -v "$2" >/dev/null || { printf 'no program %s where a remote shell looks, PATH=%s\n' "$2" "$PATH" && return; }
    command -v "$3" >/dev/null || { printf 'no %s where a remote shell looks, PATH=%s\n' "$3" "$PATH" && return; }
    printf 'is %s own own\t%s\n' "$(date +%s)" "$(version_of_mpi "$3")" && return
  fi
  if ! file=$(command -v "$2"); then
    if [[ $2 == */* ]]; then printf 'no program %s in %s\n' "$2" "$1" && return; fi
    printf 'no program %s where a remote shell looks, PATH=%s\n' "$2" "$PATH" && return
  fi
  command -v "$3" >/dev/null || { printf 'no %s where a remote shell looks, PATH=%s\n' "$3" "$PATH" && return; }
  found=$(mpi_of_program "$2") || { printf 'cannot start %s: %s\n' "$2" "$found" && return; }
  printf 'is %s %s %s\t%s\n' "$(date +%s)" "$(cksum <"$file" | tr ' ' -)" "$found" "$(version_of_mpi "$3")"
}

# So that any shell reads it as one word.
quoted() { printf "'%s' " "${1//\'/\'\\\'\'}"; }

ask_host() {
  local host=$1 question word command='exec bash -c '
  shift
  question="$(declare -f version_of_mpi mpi_of_program answer_of_host); answer_of_host \"\$@\""
  for word in "$question" ask "$PWD" "$@"; do command+=$(quoted "$word"); done
  if is_this_host "$host"; then
    timeout -k 1 "$answer_s" sh -c "$command"
  else
    timeout -k 1 "$answer_s" "${remote_shell[@]}" "$host" "$command"
  fi </dev/null
}

# Asks all at the same time, each for at most answer_s seconds. Returns 69 where one does not answer, 66 where one lacks
# something, 78 where one cannot start the program, or has another one or another MPI than the first. Each fault is a line
# that names the host.
check_hosts() {
  local program=$1 mpirun=$2 folder i code worst=0 first=() mine
  mine=$(version_of_mpi "$mpirun")
  folder=$(mktemp -d)
  for i in "${!hosts[@]}"; do
    {
      code=0
      ask_host "${hosts[i]}" "$program" "$mpirun" "$is_own" >"$folder/answer$i" 2>"$folder/errors$i" || code=$?
      printf '%s\n' "$code" >"$folder/code$i"
    } &
  done
  wait
  for i in "${!hosts[@]}"; do
    judge_answer "${hosts[i]}" "$(<"$folder/code$i")" "$(tail -n 1 "$folder/answer$i")" "$(tail -n 1 "$folder/errors$i")" ||
      { code=$?; if [ "$worst" -eq 0 ]; then worst=$code; fi; }
  done
  rm -rf "$folder"
  return "$worst"
}

# One host's answer; `mine` is this host's MPI, `first` the first host that answered well, its program, and the MPI of that.
judge_answer() {
  local host=$1 code=$2 answer=$3 errors=$4 now time program found mpi
  if [ "$code" -ne 0 ]; then
    if [ "$code" -eq 124 ] || [ "$code" -eq 137 ]; then errors="no answer within $answer_s s"; fi
    say_of "$host" "cannot be reached by ${remote_shell[0]##*/}: ${errors:-it ended with $code}"
    return 69
  fi
  if [[ $answer == "cannot start "* ]]; then
    say_of "$host" "$answer; a library is missing there, or differs from the one that eave was built with"
    return 78
  fi
  if [[ $answer != "is "* ]]; then
    say_of "$host" "${answer:-it said nothing}"
    return 66
  fi
  mpi=${answer#*$'\t'}
  read -r _ time program found <<<"${answer%%$'\t'*}"
  if [ ${#first[@]} -eq 0 ]; then first=("$host" "$program" "$found"); fi
  if [ "$program" != "${first[1]}" ]; then
    say_of "$host" "its program differs from that of ${first[0]}: install the same on all hosts"
    return 78
  fi
  if [ "$found" != "${first[2]}" ]; then
    say_of "$host" "eave finds $found there, and ${first[2]} on ${first[0]}: all need the same MPI"
    return 78
  fi
  if [ "$mpi" != "$mine" ]; then
    say_of "$host" "a remote shell finds $mpi there, and this host has $mine: all need the same MPI"
    return 78
  fi
  now=$(date +%s)
  if [ $((now - time)) -gt $((answer_s + 1)) ] || [ $((time - now)) -gt 1 ]; then
    say_of "$host" "warning: its clock is $((time - now)) s ahead of this host's: times in logs do not fit; let chronyd" \
      "or ntpd set it"
  fi
}

# In one line that a terminal does not obey: hosts answer what they like.
tell() {
  local text=${*//$'\n'/ }
  printf 'run-hosts: %s\n' "${text//[[:cntrl:]]/?}" >&2
}
say_of() { tell "host $1: ${*:2}"; }

# Whether mpirun starts anything there: its own connections may be closed to it where a remote shell gets through, and then
# it waits for ever. Returns 69 with a line for each host where it does not.
check_mpirun() {
  local i worst=0 tries=() command=() all
  start_on "$list" "$ranks" true
  if all=$(try_command); then return; fi
  for i in "${!hosts[@]}"; do
    start_on "${hosts[i]}:1" 1 true
    try_command >/dev/null &
    tries+=($!)
  done
  for i in "${!hosts[@]}"; do
    if wait "${tries[i]}"; then continue; fi
    worst=69
    say_of "${hosts[i]}" "$mpirun starts nothing there within $answer_s s, though a remote shell does: a firewall between" \
      "hosts, or several networks and the wrong one taken (see network at the top)"
  done
  if [ "$worst" -ne 0 ]; then return "$worst"; fi
  start_on "$list" "$ranks" true
  if all=$(try_command); then return; fi # a busy host may have needed longer
  tell "$mpirun starts on each host, but not on all together within $answer_s s; it says: $all"
  return 69
}

# Not by SIGTERM alone: an mpirun that waits for a host may not end by it.
try_command() { timeout -k 2 "$answer_s" "${command[@]}" </dev/null 2>&1; }
