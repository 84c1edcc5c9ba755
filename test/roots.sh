# shellcheck shell=bash disable=SC2154 # variables of the scripts that read this
# For scripts that try eave in a fresh root folder made with debootstrap: how such a root is made, filled and left.

say() { printf '%s\n' "$*"; }

# stop CODE TEXT…: each text on a line of standard error, behind the name of the script.
stop() {
  local code=$1
  shift
  printf '%s\n' "${@/#/"${0##*/}: "}" >&2
  exit "$code"
}

# Prints the comment at the head of the script.
show_help() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
  exit 0
}

require_rights() { [ "$(id -u)" -eq 0 ] || stop 69 "making and entering a root folder takes root"; }

# Stops if no root folder can be made here. Sets mirror, if it is empty: the archive to install from.
require_archive() {
  require_rights
  command -v debootstrap >/dev/null || stop 69 "debootstrap is missing: apt-get install debootstrap"
  [ -n "$mirror" ] || mirror=$(find_mirror)
  [ -n "$mirror" ] || stop 69 "apt here has no Debian archive; name one with --mirror"
}

# Says where the root folder is, if it is to be kept; removes it otherwise.
leave_root() {
  if [ "$keep" = yes ]; then
    say "kept: $inside"
  else
    rm -rf --one-file-system "$inside" "$inside.log" "$inside.pack"
  fi
}

# open_root NAME PROGRAM: for scripts with --keep, --in, --root and --mirror. Makes the root folder and fills it
# (fill_root), or takes the one of --root, which has PROGRAM; then copies what is committed into it.
open_root() {
  require_rights
  if [ -n "$inside" ]; then
    [ -x "$inside/usr/bin/$2" ] || stop 64 "$inside is no root folder that --keep left"
    keep=yes
  else
    require_archive
    inside=$(mktemp -d "$folder/eave-$1-XXXXXX")
    chmod 755 "$inside"
    trap leave_root EXIT
    say "== $suite: debootstrap from $mirror"
    make_minimal_root "$suite" "$inside" "$mirror" || stop 69 "debootstrap failed"
    fill_root
  fi
  trap leave_root EXIT
  copy_tree "$root" "$inside"
}

# The archive, as apt has it, that holds Debian itself (not its security updates).
find_mirror() {
  # shellcheck disable=SC2016 # apt-get fills these in
  apt-get indextargets --format '$(ORIGIN)/$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
    awk '$1 == "Debian/Debian" && !found++ {print $2}'
}

# copy_apt_settings ROOT: only how packages are fetched; hooks would call programs that the root does not have.
copy_apt_settings() {
  local to=$1
  apt-config dump | grep -E '^Acquire::(http|https|Check-|Retries|Force)' >"$to/etc/apt/apt.conf.d/90host" || true
  cp -a /etc/apt/auth.conf.d/. "$to/etc/apt/auth.conf.d/" 2>/dev/null || true
  cp -L /etc/resolv.conf /etc/hosts "$to/etc/" 2>/dev/null || true
}

# copy_certificates ROOT MIRROR: an https archive behind a certificate of this machine's own needs that certificate.
copy_certificates() {
  local to=$1 mirror=$2 bundle=${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}
  if [[ $mirror == https:* && -r $bundle ]]; then
    mkdir -p "$to/etc/ssl/certs"
    cp -L "$bundle" "$to/etc/ssl/certs/ca-certificates.crt"
  fi
}

# debootstrap_words SUITE: the words that choose its components. What is needed of Ubuntu is in two.
debootstrap_words() {
  local script=/usr/share/debootstrap/scripts/$1
  if [ "$(basename -- "$(readlink -f "$script")")" = gutsy ] || [ ! -e "$script" ]; then echo --components=main,universe; fi
}

# debootstrap_script SUITE: nothing, or the name of the script for releases of Ubuntu that debootstrap does not know yet: it
# is the same for all of them.
debootstrap_script() {
  if [ ! -e "/usr/share/debootstrap/scripts/$1" ]; then echo gutsy; fi
}

# make_minimal_root SUITE ROOT MIRROR: without package lists, as container images come. False, and why, if that fails.
make_minimal_root() {
  local suite=$1 to=$2 mirror=$3
  # shellcheck disable=SC2046 # none or one word each
  if ! debootstrap --variant=minbase $(debootstrap_words "$suite") "$suite" "$to" "$mirror" $(debootstrap_script "$suite") \
    >"$to.log" 2>&1; then
    tail -n 10 "$to.log" >&2
    return 1
  fi
  rm -rf "$to"/var/lib/apt/lists/*
  copy_apt_settings "$to"
  copy_certificates "$to" "$mirror"
}

# compiler_cache: the folder of the ccache that builds on this machine use, or nothing.
compiler_cache() {
  if [[ ${CMAKE_CXX_COMPILER_LAUNCHER:-} == *ccache ]]; then ccache --get-config cache_dir; fi
}

# run_in_root ROOT COMMAND…: in the root's /opt/eave, with that cache, and no variable of this machine but the proxies'.
# Mounts and processes live in name spaces of their own and end with them.
run_in_root() {
  # shellcheck disable=SC2016 # expanded by the inner shells
  unshare --mount --pid --fork --propagation private bash -ec '
    inside=$1 cache=$2; shift 2
    mount -t proc proc "$inside/proc"
    mount -t tmpfs tmpfs "$inside/dev/shm"
    ccache=()
    if [ -n "$cache" ]; then
      mkdir -p "$inside/var/cache/ccache"
      mount --bind "$cache" "$inside/var/cache/ccache"
      ccache=(CCACHE_DIR=/var/cache/ccache CCACHE_BASEDIR=/opt/eave CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
        CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache)
    fi
    exec chroot "$inside" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 \
      OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1 \
      PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe "${ccache[@]}" \
      ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
      bash -c "mkdir -p /opt/eave && cd /opt/eave && exec \"\$@\"" inside "$@"
  ' run_in_root "$1" "$(compiler_cache)" "${@:2}" </dev/null
}

# copy_tree TREE ROOT: what is committed of it becomes the root's /opt/eave.
copy_tree() {
  rm -rf "$2/opt/eave"
  git clone --quiet --no-hardlinks "$1" "$2/opt/eave"
}
