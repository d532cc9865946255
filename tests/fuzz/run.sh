#!/bin/bash
# run.sh SECONDS BUILD [READER...]: gives every reader (or those named) so many seconds of inputs that nobody wrote.
#
# Builds the preset `fuzz` in the folder BUILD; skipped (exit 77) where there is no clang with libFuzzer. What brings a
# reader down is kept as BUILD/found/READER-*; so is what is slow (10 s) or takes memory (1 GiB in all, 64 MiB at once).
# What was learnt stays in BUILD/corpus, for the next time.
set -euo pipefail
usage="usage: run.sh SECONDS BUILD [READER...]"
seconds=${1:?"$usage"}
build=${2:?"$usage"}
shift 2
here=$(dirname "$(realpath "$0")")
root=$(realpath "$here/../..")

echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
  clang++ -fsanitize=fuzzer,address,undefined -x c++ -o /dev/null - 2>/dev/null || {
  echo "SKIPPED: needs clang++ with libFuzzer (packages clang and libclang-rt-dev)"
  exit 77
}
mkdir -p "$build"
build=$(realpath "$build")
(cd "$root" && cmake --preset fuzz -B "$build" >/dev/null)
cmake --build "$build" --target reader_fuzzer

fuzzer=$build/tests/fuzz/reader_fuzzer
mapfile -t readers < <(LOCKSTEP_FUZZ_READER=list "$fuzzer")
(($# == 0)) || readers=("$@")

fuzz() {
  local reader=$1 log=$build/$1.log options=()
  mkdir -p "$build/corpus/$reader" "$build/found"
  [[ -f $here/dictionaries/$reader.dict ]] && options=("-dict=$here/dictionaries/$reader.dict")
  if LOCKSTEP_FUZZ_READER=$reader "$fuzzer" "-max_total_time=$seconds" -rss_limit_mb=1024 -malloc_limit_mb=64 \
    -timeout=10 -max_len=16384 -print_final_stats=1 "-artifact_prefix=$build/found/$reader-" "${options[@]}" \
    "$build/corpus/$reader" "$here/seeds/$reader" >"$log" 2>&1; then
    echo "$reader: $(awk '/number_of_executed_units/ {n = $2} /average_exec_per_sec/ {r = $2}
      /peak_rss_mb/ {m = $2} END {print n " inputs, " r "/s, " m " MiB"}' "$log")"
  else
    echo "$reader: BROUGHT DOWN"
    tail -n 40 "$log"
    return 1
  fi
}
export -f fuzz
export build seconds fuzzer here
printf '%s\n' "${readers[@]}" | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz "$1"' - '{}'
