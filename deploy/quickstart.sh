#!/bin/bash
# From a clean clone to a trained network: installs what is needed, builds, trains a ResNet-8 on Fashion-MNIST with
# two workers, prints the test accuracy and the run folder.
set -euo pipefail

usage() {
  cat <<'TEXT'
usage: deploy/quickstart.sh [--yes] [--data DIR] [--workers N] [--set KEY=VALUE]...
  --yes           install packages without asking (also with CI=true)
  --data DIR      folder with the four IDX files of Fashion-MNIST or MNIST (default: the Debian package
                  dataset-fashion-mnist)
  --workers N     default 2
  --set KEY=VALUE override a key of docs/examples/quickstart.json
TEXT
}

ask=ask
[[ ${CI:-} == true ]] && ask=yes
data=
workers=2
settings=()
while (($#)); do
  case $1 in
    --yes) ask=yes ;;
    --data) data=${2:?"--data needs a folder"}; shift ;;
    --workers) workers=${2:?"--workers needs a number"}; shift ;;
    --set) settings+=(--set "${2:?"--set needs KEY=VALUE"}"); shift ;;
    -h | --help) usage; exit 0 ;;
    *) echo "error: unknown argument '$1'" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

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

# The file in $data that holds $1, packed or not.
idx_file() {
  local file
  for file in "$data/$1" "$data/$1.gz"; do
    [[ -f $file ]] && { echo "$file"; return; }
  done
  echo "error: neither $data/$1 nor $data/$1.gz is there" >&2
  return 1
}
train_images=$(idx_file train-images-idx3-ubyte)
train_labels=$(idx_file train-labels-idx1-ubyte)
eval_images=$(idx_file t10k-images-idx3-ubyte)
eval_labels=$(idx_file t10k-labels-idx1-ubyte)

cmake --preset release -DLOCKSTEP_TESTS=OFF >build-quickstart.log 2>&1 && mkdir -p build && mv build-quickstart.log build/ ||
  { cat build-quickstart.log >&2; exit 1; }
echo "building (a few minutes)"
cmake --build --preset release

build/release/bin/lockstep launch -n "$workers" "${settings[@]}" \
  --set "data.train.images=$train_images" --set "data.train.labels=$train_labels" \
  --set "data.eval.images=$eval_images" --set "data.eval.labels=$eval_labels" \
  docs/examples/quickstart.json

run=$(realpath runs/quickstart/latest)
accuracy=$(grep -o '"accuracy": *[0-9.]*' "$run/summary.json" | grep -o '[0-9.]*$')
echo
echo "test accuracy: $accuracy (10,000 images, each counted once)"
echo "run folder:    $run"
