# shellcheck shell=bash
# Sourced by test/run and .ci/run.

# Seconds that each of this machine's cores has been kept from it since it started, by others on the same host.
stolen_seconds() { awk -v hz="$(getconf CLK_TCK)" -v cores="$(nproc)" '/^cpu / { print int($9 / hz / cores) }' /proc/stat; }
