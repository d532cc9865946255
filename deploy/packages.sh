# The Debian packages that Lockstep needs, and how they are installed. Sourced by the scripts beside it.

build_packages=(g++ cmake ninja-build libdnnl-dev libboost-dev libfmt-dev nlohmann-json3-dev
                libcli11-dev libssl-dev zlib1g-dev libhwloc-dev libpugixml-dev libucx-dev)
data_packages=(dataset-fashion-mnist)
test_packages=(libgtest-dev libgmock-dev python3 python3-numpy)
cluster_packages=(openssh-client openssh-server iproute2 openmpi-bin libopenmpi-dev munge slurmctld slurmd slurm-client)

# Prints those of the given packages that are not installed, one a line.
missing_packages() {
  local package
  for package in "$@"; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || echo "$package"
  done
}

# install_packages ASK PACKAGE...: installs what is missing. ASK is `ask`, `yes`, or `never`, which trusts that all is
# there. Fails, saying what to do, where it may not install.
install_packages() {
  local ask=$1 missing as_root=() answer
  shift
  [[ $ask != never ]] || return 0
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "error: packages are installed with apt, which this system does not have;" >&2
    echo "  see docs/install.md for the libraries that are needed, then pass --no-install" >&2
    return 1
  fi
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} == 0)) && return 0
  echo "packages to install: ${missing[*]}"
  if [[ $(id -u) != 0 ]]; then
    if ! command -v sudo >/dev/null; then
      echo "error: these packages are missing, and this is neither root nor is there sudo; as root, run:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      echo "or see docs/install.md for building without root (and pass --no-install)" >&2
      return 1
    fi
    as_root=(sudo)
  fi
  if [[ $ask == ask ]]; then
    if ! read -r -p "install them now? [y/N] " answer; then
      echo "nobody answers; pass --yes to install without asking" >&2
      return 1
    fi
    [[ $answer == [yY]* ]] || { echo "nothing was installed" >&2; return 1; }
  fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
}

# The same for packages that bring daemons, none of which is started: invoke-rc.d asks policy-rc.d. Root only.
install_stopped() {
  local policy=/usr/sbin/policy-rc.d
  [[ -z $(missing_packages "$@") ]] && return 0
  if [[ $(id -u) != 0 ]] || [[ -e $policy ]]; then
    echo "error: these packages are missing: $(missing_packages "$@" | tr '\n' ' ')" >&2
    echo "  install them as root; the daemons in them are not needed and may be stopped" >&2
    return 1
  fi
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  install_packages yes "$@" || { rm "$policy"; return 1; }
  rm "$policy"
}
