# shellcheck shell=bash
# To be sourced: find_or_install_pip sets `python` to a Python that has pip. Needs `root`, the folder of the sources, and
# a function `stop CODE WORDS`.

find_python_with_pip() {
  for python in python3 /usr/bin/python3; do
    if "$python" -m pip --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

find_or_install_pip() {
  if find_python_with_pip; then return 0; fi
  # shellcheck disable=SC2154 # of the script that sources this
  "$root/mpi_launch/install_packages" pip || exit $?
  find_python_with_pip || stop 69 "there is no pip for python3 here: install python3-pip, then try again"
}
