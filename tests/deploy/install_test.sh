#!/bin/bash
# install_test.sh BUILD SOURCE COMPILER SANITIZERS: what `cmake --install` puts somewhere works after it was moved: the
# programs train, a program and a plug-in of one's own build against it, the library shows the project's names only.
# The tarball's program trains where it was unpacked.
set -euo pipefail
build=$1 source=$2 compiler=$3 sanitizers=$4

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

cmake --install "$build" --prefix "$folder/first" >"$folder/install.log" || { cat "$folder/install.log" >&2; exit 1; }
mv "$folder/first" "$folder/moved"
prefix=$folder/moved
library=$(echo "$prefix"/lib*/liblockstep.so)
for file in bin/lockstep bin/lockstep-agent include/lockstep/engine/model.h include/lockstep/collectives/communicator.h \
  include/lockstep/runtime/job.h share/doc/lockstep/LICENSE share/doc/lockstep/examples/quickstart.json; do
  [[ -f $prefix/$file ]] || fail "$file was not installed"
done
[[ ! -e $prefix/include/lockstep/engine/cpu/onednn.h ]] || fail "a private header was installed"

# The loader must take the library that was moved along, not the one of the build.
used=$(ldd "$prefix/bin/lockstep" | grep -o '/.*/liblockstep[^ ]*')
[[ $(realpath "$used") == $(realpath "$library") ]] || fail "bin/lockstep uses $used, not $library"

cd "$folder"
"$prefix/bin/lockstep" train "$source/tests/deploy/synthetic.json"
"$prefix/bin/lockstep" launch -n 2 "$source/tests/deploy/synthetic.json"
for world in 1 2; do
  grep -l "\"world\": *$world\b" runs/installed/*/summary.json >done.txt || fail "no run of world $world left a summary"
  xargs grep -q '"status": *"done"' <done.txt || fail "the run of world $world is not done"
done

flags=
[[ -z $sanitizers ]] || flags="-fsanitize=$sanitizers"
cmake -G Ninja -S "$source/tests/deploy/consumer" -B consumer -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" -DLOCKSTEP_HEADERS="$prefix/include/lockstep"
cmake --build consumer
consumer/consumer

# The example of docs/plugins.md, as a user follows it.
cp -r "$prefix/share/doc/lockstep/examples/plugin" plugin
cmake -G Ninja -S plugin -B plugin/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags"
cmake --build plugin/build
"$prefix/bin/lockstep" launch -n 2 plugin/job.json --set steps=4 --set model.blocks=2
grep -q '"status": *"done"' runs/my-model/latest/summary.json || fail "the plug-in's run is not done"
grep -q '"blocks": *2' runs/my-model/latest/job.json || fail "the plug-in's own key is not in the run's job.json"

# A build id follows the headers that a plug-in is compiled from, and no others.
mkdir headers && cp -r "$source/engine" headers/
build_id() {
  cmake -Droot="$folder/headers" -Dversion=1 -Doutput="$folder/id.h" -P "$source/cmake/interface_id.cmake"
  grep kHeadersFingerprint id.h
}
before=$(build_id)
echo '// changed' >>headers/engine/verify.h
[[ $(build_id) == "$before" ]] || fail "the build id follows a header that engine/plugin.h does not include"
echo '// changed' >>headers/engine/graph.h
[[ $(build_id) != "$before" ]] || fail "the build id does not follow engine/graph.h"

nm -DC --defined-only "$library" | cut -d ' ' -f 3- >names.txt
grep -q 'lockstep::engine::build_training' names.txt || fail "the library does not show build_training"
if grep -Ev '^((typeinfo|typeinfo name|vtable) for )?lockstep::' names.txt; then
  fail "the library shows the names above, which are not the project's"
fi
# The tarball runs where it is unpacked.
cpack --config "$build/CPackConfig.cmake" -B pack >cpack.log || { cat cpack.log >&2; exit 1; }
mkdir unpacked
tar xzf pack/lockstep-*.tar.gz -C unpacked
unpacked/lockstep-*/bin/lockstep train "$source/tests/deploy/synthetic.json" --runs unpacked/runs
[[ -f unpacked/runs/installed/latest/summary.json ]] || fail "the tarball's program left no summary"
echo "installed, moved, trained, built against: all as promised"
