# Sourced by ./bulkhead and ./test: installs what is missing and builds. Expects $root, the root of the source tree.
# Everything that is said goes to standard error, so that standard output stays the program's.

build="$root/build/release"
stamp="$build/.up-to-date"

say() { printf 'bulkhead: %s\n' "$*" >&2; }

# True if the program is newer than everything it is made from. Directories are compared as well: adding or deleting a
# file changes them.
is_current() {
    [ -x "$build/bulkhead" ] && [ -e "$stamp" ] &&
        [ -z "$(find "$root/src" "$root/web" "$root/profiles" "$root/cmake" "$root/CMakeLists.txt" "$root/CMakePresets.json" \
            "$root/scripts" -newer "$stamp" -print -quit)" ]
}

# install_missing LIST...: the packages that these files name.
install_missing() {
    command -v dpkg-query >/dev/null || return 0
    local wanted missing=() package as_root=()
    mapfile -t wanted < <(cat "$@")
    for package in "${wanted[@]}"; do
        # A program of that name that came another way will do.
        command -v "$package" >/dev/null ||
            [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo)
        if ! command -v sudo >/dev/null; then
            say "needs ${missing[*]}; install them, or run as root"
            return 0
        fi
    fi
    say "installing ${missing[*]}"
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends
        "${missing[@]}") log
    log=$(mktemp)
    # The lists are fetched only if those at hand do not serve.
    if ! "${install[@]}" >"$log" 2>&1 </dev/null; then
        "${as_root[@]}" apt-get update -qq >"$log" 2>&1 </dev/null || true
        "${install[@]}" >>"$log" 2>&1 </dev/null || {
            tail -n 3 "$log" >&2
            say "could not install ${missing[*]}; trying to build without"
        }
    fi
    rm -f "$log"
}

# Shows a command's output as it comes on a terminal, and elsewhere only if it fails.
quietly() {
    if [ -t 2 ]; then
        "$@" >&2
        return
    fi
    local log status=0
    log=$(mktemp)
    "$@" >"$log" 2>&1 || status=$?
    [ $status -eq 0 ] || cat "$log" >&2
    rm -f "$log"
    return $status
}

# Like quietly, of a build by ninja: elsewhere than on a terminal it says how far it is, a line for each tenth.
with_progress() {
    if [ -t 2 ]; then
        quietly "$@"
        return
    fi
    local log status=0 line done all said=0
    log=$(mktemp)
    { "$@" 2>&1 || echo "status $?" >"$log.status"; } | tee "$log" | while IFS= read -r line; do
        [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
        done=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
        # A few files are built before a line about them is read.
        if [ "$all" -ge 30 ] && [ $((10 * done / all)) -gt "$said" ]; then
            said=$((10 * done / all))
            say "built $done of $all"
        fi
    done
    if [ -e "$log.status" ]; then
        read -r _ status <"$log.status"
        cat "$log" >&2
    fi
    rm -f "$log" "$log.status"
    return "$status"
}

# build_release TARGET: configures where needed and builds; ends the script if that fails.
build_release() {
    mkdir -p "$build"
    # Two commands at once: the second waits, and then finds it done.
    exec {lock}>"$root/build/.lock"
    flock "$lock"
    if [ "$1" != bulkhead ] || ! is_current; then
        install_missing "$root/scripts/packages"
        # A tree that was moved or copied has a cache that points elsewhere.
        if [ -e "$build/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$build/CMakeCache.txt"; then
            rm -rf "$build"
            mkdir -p "$build"
        fi
        say "building"
        touch "$build/.started"
        if [ ! -e "$build/build.ninja" ]; then
            (cd "$root" && quietly cmake --preset release) || { say "cmake failed"; exit 2; }
        fi
        with_progress cmake --build "$build" --target "$1" || { say "the build failed"; exit 2; }
        mv "$build/.started" "$stamp"
    fi
    exec {lock}>&-
}

# words_of PLACE: the verbs and options that may follow, such as "isolate plan"; fails if there is no such place.
words_of() { awk -F'|' -v place="$1" '$1 == place { print $2; found = 1 } END { exit !found }' "$root/scripts/options"; }

# expect_options WORD...: refuses a verb or an option that the program does not have, before minutes of building.
expect_options() {
    local place='' words word before=''
    words=" $(words_of '') "
    for word in "$@"; do
        # What follows this one begins with a dash and is no option of ours.
        if [ "$before" = --slurm-options ]; then
            before=''
            continue
        fi
        before=$word
        case $word in
        -- | -) break ;;
        -*)
            if [[ $words != *" ${word%%=*} "* ]]; then
                say "${place:+$place: }unknown option ${word%%=*}; there are${words% }"
                exit 2
            fi
            ;;
        *)
            if [[ $words == *" $word "* ]]; then
                place+=${place:+ }$word
                words=" $(words_of "$place") "
                # Words of these are another program's.
                [[ $place != cc && $place != exec && $place != 'isolate run' ]] || break
            elif [ -z "$place" ]; then
                say "unknown verb $word; there are${words%%-*}"
                exit 2
            fi
            ;;
        esac
    done
}
