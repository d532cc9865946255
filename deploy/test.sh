#!/bin/bash
# Builds and tests. Without arguments: the unit tests, as any user.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: deploy/test.sh [--cluster | --ci | --slow] [--no-install]
  (none)     release build, tests with label unit
  --cluster  also the tests that make hosts of network namespaces (root)
  --ci       all but the labels slow and gpu, and the same under address, undefined and thread sanitizers
  --slow     only the tests with label slow (fresh Debian roots, as root; 60 s of fuzzing a reader)
  --no-install  install nothing: libraries and tools are there, by CMAKE_PREFIX_PATH for instance
Missing packages are installed as root or by sudo, without asking; where neither is at hand they are listed.
TEXT
}

mode=unit
install=yes
while (($#)); do
  case $1 in
    --cluster) mode=cluster ;;
    --ci) mode=ci ;;
    --slow) mode=slow ;;
    --no-install) install=never ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

cd "$(dirname "$0")/.."
source deploy/packages.sh
packages=("${build_packages[@]}" "${test_packages[@]}" "${data_packages[@]}")
[[ $mode == slow ]] && packages+=(mmdebstrap debian-archive-keyring clang libclang-rt-dev)
install_packages "$install" "${packages[@]}"
[[ $install == never || ! $mode =~ ^(cluster|ci)$ ]] || install_stopped "${cluster_packages[@]}"

jobs=$(nproc)
# build_and_test PRESET TARGET CTEST-ARGUMENTS...
build_and_test() {
  local preset=$1 target=$2 began=$SECONDS
  shift 2
  cmake --preset "$preset" -DLOCKSTEP_TESTS=ON
  cmake --build --preset "$preset" --target "$target" -j "$jobs"
  echo "== $preset: built in $((SECONDS - began)) s"
  began=$SECONDS
  ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
  echo "== $preset: tested in $((SECONDS - began)) s"
}

case $mode in
  unit) build_and_test release all -L unit ;;
  cluster) build_and_test release all -L 'unit|cluster' ;;
  slow) build_and_test release all -L slow ;;
  ci)
    build_and_test release all -LE 'slow|gpu'
    build_and_test asan address_tests -L address
    build_and_test tsan thread_tests -L thread
    ;;
esac
