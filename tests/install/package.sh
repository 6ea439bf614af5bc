#!/usr/bin/env bash
# Packs a build as a Debian package and looks into it: its control file, its libraries, and the program as it lies there.
# usage: package.sh BUILD_FOLDER
set -euo pipefail
build=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cpack --config "$build/CPackConfig.cmake" -G DEB -B "$scratch" >"$scratch/log" 2>&1 || {
    cat "$scratch/log" >&2
    exit 1
}
package=$(echo "$scratch"/*.deb)
[ "$(dpkg-deb --field "$package" Package)" = bulkhead ]
dpkg-deb --field "$package" Depends | tee "$scratch/depends"
for library in libc6 libstdc++6 libfmt9 liblz4-1 libzstd1; do
    grep -q "$library" "$scratch/depends"
done

dpkg-deb --extract "$package" "$scratch/root"
for file in usr/bin/bulkhead usr/lib/bulkhead/libcuda.so.1 usr/share/man/man1/bulkhead.1 usr/share/doc/bulkhead/copyright \
    usr/lib/systemd/system/bulkhead-keeper@.service; do
    [ -e "$scratch/root/$file" ] || { echo "$file is missing" >&2; exit 1; }
done
"$scratch/root/usr/bin/bulkhead" --version
echo "packed"
