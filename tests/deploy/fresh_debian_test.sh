#!/bin/bash
# fresh_debian_test.sh SUITE: in a fresh Debian root, a clone of this repository does what the README promises:
# deploy/quickstart.sh trains to the promised accuracy in the promised time, then deploy/test.sh passes.
#
# Needs root and mmdebstrap, else it is skipped (exit 77). The machine's own apt sources say which mirror is used; its
# apt and resolver settings are copied into the root, so that packages can be had there as here.
set -euo pipefail
suite=${1:?"usage: fresh_debian_test.sh SUITE"}
least_accuracy=0.92
most_seconds=300
images=10000

skip() {
  echo "SKIPPED: $*"
  exit 77
}

[[ $(id -u) == 0 ]] || skip "needs root"
command -v mmdebstrap >/dev/null || skip "needs mmdebstrap"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[[ -f $keyring ]] || skip "needs $keyring (package debian-archive-keyring)"
mirror=$(grep -hoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  grep -v snapshot | head -n 1 | tr -d ' ') || true
[[ -n $mirror ]] || skip "no Debian mirror in this machine's apt sources"

source=$(realpath "$(dirname "$0")/../..")
root=$(mktemp -d)
chmod 755 "$root"
# What is mounted in the root is mounted in a namespace of its own, which ends with the command: only files are left.
trap 'rm -rf --one-file-system "$root"' EXIT

mmdebstrap --quiet --variant=apt --keyring="$keyring" "$suite" "$root" "$mirror"
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
for file in /etc/apt/apt.conf.d/*proxy* /etc/apt/auth.conf.d/*; do
  [[ ! -f $file ]] || cp "$file" "$root${file%/*}/"
done

# Runs a bash command in the root, as a stranger's shell would: with none of this environment's settings but the proxy.
in_root() {
  local variables=(HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8) name
  for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [[ -z ${!name:-} ]] || variables+=("$name=${!name}")
  done
  unshare --mount --pid --fork --kill-child env -i "${variables[@]}" bash -euc '
    mount -t proc proc "$0/proc"
    mount --rbind /dev "$0/dev"
    mount -t tmpfs tmpfs "$0/tmp"
    exec chroot "$0" bash -euc "$1"' "$root" "$1"
}

git clone --quiet --no-hardlinks "$source" "$root/root/lockstep"
in_root 'cd /root/lockstep && deploy/quickstart.sh --yes </dev/null'

# From the summary: accuracy on how many images, and seconds from the start of the run to its end.
read -r accuracy samples seconds < <(python3 - "$root/root/lockstep/runs/quickstart/latest/summary.json" <<'PYTHON'
import json, sys
summary = json.load(open(sys.argv[1]))
print(summary["eval"]["accuracy"], summary["eval"]["samples"], round(summary["ended"] - summary["started"], 1))
PYTHON
)
echo "$suite: accuracy $accuracy on $samples images, trained in $seconds s on $(nproc) cores"
failures=0
expect() {
  local what=$1
  shift
  "$@" && return
  echo "FAILED: $suite: $what" >&2
  failures=$((failures + 1))
}
expect "evaluated $samples images, not $images" [ "$samples" = "$images" ]
expect "accuracy $accuracy is below $least_accuracy" python3 -c "import sys; sys.exit(not $accuracy >= $least_accuracy)"
expect "training took more than $most_seconds s" python3 -c "import sys; sys.exit(not $seconds <= $most_seconds)"
expect "deploy/test.sh does not pass" in_root 'cd /root/lockstep && deploy/test.sh </dev/null'
((failures == 0)) || exit 1
echo "$suite: quickstart and tests pass"
