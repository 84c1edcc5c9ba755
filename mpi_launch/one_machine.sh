# shellcheck shell=bash
# To be sourced: settle_mpirun RANKS sets, in the environment, what mpirun needs to start that many ranks on this
# machine. Environment, not options: Open MPI 4, Open MPI 5 and MPICH name the options differently, and each
# ignores the others' variables.

# Cores that mpirun counts as places for ranks: hardware threads of one core are one place.
count_cores() {
  local cores processors
  processors=$(nproc)
  cores=$(lscpu -p=CORE,SOCKET 2>/dev/null | grep -v '^#' | sort -u | wc -l)
  if [ "$cores" -lt 1 ] || [ "$cores" -gt "$processors" ]; then cores=$processors; fi
  printf '%s\n' "$cores"
}

settle_mpirun() {
  local ranks=$1
  if [ "$(id -u)" -eq 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  fi
  # Ranks of one machine meet in shared memory; without this, Open MPI 5 complains about networks it will not use.
  # The others are those that Debian leaves out anyway: looking for them costs each start a second.
  export OMPI_MCA_btl=${OMPI_MCA_btl:-^tcp,uct,openib,ofi}
  # Only where needed: Open MPI 5 binds no rank to a core once this is set.
  if [ "$(count_cores)" -lt "$ranks" ]; then
    export OMPI_MCA_rmaps_base_oversubscribe=true
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  fi
}
