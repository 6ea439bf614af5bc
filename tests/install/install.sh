#!/usr/bin/env bash
# Installs a build into an empty folder and uses it from there as a user would: the program, a CUDA program that it
# builds and runs, manual pages, completions, and a project that finds the CMake package and the pkg-config file.
# usage: install.sh BUILD_FOLDER SOURCE_FOLDER
set -euo pipefail
build=$1 source=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
prefix="$scratch/a prefix"

cmake --install "$build" --prefix "$prefix" >/dev/null
export PATH="$prefix/bin:$PATH"
cd "$scratch"

[ "$(command -v bulkhead)" = "$prefix/bin/bulkhead" ]
bulkhead --version
bulkhead gpus >/dev/null

bulkhead cc -O1 "$source/examples/reduction.cu" -o reduction
bulkhead exec --quiet --gpu sim:tx2 -- ./reduction

for page in bulkhead bulkhead-stress bulkhead-report; do
    grep -q '^\.SH NAME' "$prefix/share/man/man1/$page.1"
done
grep -q _bulkhead "$prefix/share/bash-completion/completions/bulkhead"
grep -q '#compdef' "$prefix/share/zsh/vendor-completions/_bulkhead"
grep -q 'complete -c bulkhead' "$prefix/share/fish/vendor_completions.d/bulkhead.fish"

# Its verbs and options are the program's, and systemd takes it where there is one.
unit="$prefix/lib/systemd/system/bulkhead-keeper@.service"
for verb in keep set; do
    grep -q "bulkhead isolate $verb --gpu %i --leases /var/lib/bulkhead" "$unit"
    bulkhead isolate "$verb" --help | grep -q -e --leases
done
if command -v systemd-analyze >/dev/null; then
    mkdir units
    sed 's|bulkhead isolate|/bin/true isolate|' "$unit" >'units/bulkhead-keeper@.service'
    said=$(SYSTEMD_UNIT_PATH="$scratch/units:" systemd-analyze verify --man=no 'units/bulkhead-keeper@.service' 2>&1)
    [ -z "$said" ] || { echo "$said" >&2; exit 1; }
fi

# Other projects find libbulkhead both ways. Outside of any partition it says so.
mkdir project
cat >project/main.cpp <<'EOF'
#include <bulkhead.h>
#include <cstdio>
int main() {
    bulkhead_place place;
    if (bulkhead_query(&place) == 0) return 1;
    std::puts(bulkhead_error());
}
EOF
cat >project/CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
find_package(bulkhead REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE bulkhead::bulkhead)
EOF
cmake -S project -B project/build -G Ninja "-DCMAKE_PREFIX_PATH=$prefix" >/dev/null
cmake --build project/build >/dev/null
project/build/consumer
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --cflags --libs bulkhead)
    eval "g++ project/main.cpp -o consumer $flags"
    ./consumer
fi

# Nothing that is installed may need the build or the source folder.
if grep -rIlF -e "$build" -e "$source" "$prefix"; then
    echo "these files name the folder that they were built in" >&2
    exit 1
fi
echo "installed and used"
