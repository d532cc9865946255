#!/bin/bash
# From a clean clone to a trained network: installs what is needed, builds, trains a ResNet-8 on Fashion-MNIST with
# two workers, prints the test accuracy and the run folder.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: deploy/quickstart.sh [--yes | --no-install] [--data DIR] [--workers N] [--set KEY=VALUE]...
  --yes           install packages without asking (also with CI=true)
  --no-install    install nothing: the libraries are there, by CMAKE_PREFIX_PATH for instance
  --data DIR      folder with the four IDX files of Fashion-MNIST or MNIST, packed or not
                  (default: the Debian package dataset-fashion-mnist)
  --workers N     default 2
  --set KEY=VALUE override a key of docs/examples/quickstart.json
TEXT
}
wrong() {
  echo "error: $1" >&2
  usage >&2
  exit 2
}

ask=ask
[[ ${CI:-} != true ]] || ask=yes
data=
workers=2
settings=()
while (($#)); do
  case $1 in
    --yes) ask=yes ;;
    --no-install) ask=never ;;
    --data | --workers | --set)
      (($# > 1)) || wrong "$1 needs a value"
      case $1 in
        --data) data=$2 ;;
        --workers) workers=$2 ;;
        --set) settings+=(--set "$2") ;;
      esac
      shift
      ;;
    -h | --help) usage; exit 0 ;;
    *) wrong "unknown argument '$1'" ;;
  esac
  shift
done
[[ $workers =~ ^[1-9][0-9]*$ ]] || wrong "--workers $workers: expected a number from 1"

if [[ -n $data ]]; then
  [[ -d $data ]] || { echo "error: --data $data: no such folder" >&2; exit 2; }
  data=$(realpath "$data")
fi
cd "$(dirname "$0")/.."
source deploy/packages.sh
packages=("${build_packages[@]}")
[[ -n $data ]] || packages+=("${data_packages[@]}")
install_packages "$ask" "${packages[@]}"
data=${data:-/usr/share/datasets/fashion-mnist}

# Before the build, which takes minutes: the file of $data that holds $1, packed or not.
idx_file() {
  local file
  for file in "$data/$1" "$data/$1.gz"; do
    [[ -f $file ]] && { echo "$file"; return; }
  done
  echo "error: neither $data/$1 nor $data/$1.gz is there" >&2
  return 2
}
train_images=$(idx_file train-images-idx3-ubyte)
train_labels=$(idx_file train-labels-idx1-ubyte)
eval_images=$(idx_file t10k-images-idx3-ubyte)
eval_labels=$(idx_file t10k-labels-idx1-ubyte)

echo "== building into build/release (the first time this takes minutes)"
mkdir -p build
cmake --preset release -DLOCKSTEP_TESTS=OFF >build/configure.log 2>&1 || { cat build/configure.log >&2; exit 1; }
cmake --build --preset release

echo "== training"
build/release/bin/lockstep launch -n "$workers" "${settings[@]}" \
  --set "data.train.images=$train_images" --set "data.train.labels=$train_labels" \
  --set "data.eval.images=$eval_images" --set "data.eval.labels=$eval_labels" \
  docs/examples/quickstart.json

# The number that stands under KEY of the summary's "eval".
run=$(realpath runs/quickstart/latest)
of_evaluation() {
  sed -n '/^  "eval": {/,/}/p' "$run/summary.json" | sed -nE "s/.*\"$1\": ([0-9.]+).*/\1/p"
}
echo
echo "test accuracy: $(of_evaluation accuracy) on $(of_evaluation samples) images"
echo "run folder:    $run"
