# Sourced by ./test: everything that finds faults, one step after the other. A step that fails does not keep the next ones
# from being made, unless nothing could be built.

results=$root/build/results
failed_steps=()

# step WORDS COMMAND...: says what is done and how long it took, and keeps whether it went well.
step() {
    local words=$1 begun=$SECONDS
    shift
    say "$words"
    if "$@"; then
        say "$words: passed ($((SECONDS - begun)) s)"
    else
        say "$words: FAILED ($((SECONDS - begun)) s)"
        failed_steps+=("$words")
    fi
}

# run_tests BUILD NAME ARGUMENT...: what ctest finds goes into the sum at the end.
run_tests() {
    local folder=$root/build/$1 name=$2
    shift 2
    ctest --test-dir "$folder" --output-on-failure --output-junit "$results/$name.xml" -j "$(nproc)" "$@"
}

# build_sanitized PRESET TARGET...: beside the release build, of which it takes what need not be checked.
build_sanitized() {
    local preset=$1
    shift
    (cd "$root" && quietly cmake --preset "$preset") && quietly cmake --build "$root/build/$preset" --target "$@"
}

formatted() {
    (cd "$root" && find src tests bench examples -regex '.*\.\(cpp\|h\|hpp\|cu\|cuh\)' -print0 |
        xargs -0 -P "$(nproc)" -n 64 clang-format-14 --dry-run -Werror)
}

address_tests=(base experiment report arch ptx exec sim driver far_driver walls libcuda isolate)
long_address_tests=(gpu dissect calibrate workloads differential corun evaluation stress compare metrics correlate)
thread_tests=(driver far_driver libcuda walls)
threaded_tests=('driver\.' 'far_driver\.' 'libcuda\.' 'walls\.(No)?WalledDriver')  # of walls, those with several threads

# Simulation takes thirty times as long under the sanitizers. These tests have little of it; the others are test_long's.
short_tests=(
    'base\.' 'arch\.' 'ptx\.' 'exec\.' 'driver\.' 'far_driver\.' 'libcuda\.' 'fuzz\.' 'report\.[A-JL-OQ-Z]'
    'sim\.(Dram|L1|L2|PersistentBlocks|Pipeline|Coalescer|AddressTranslation|SharedCache|PhysicalMemory|VictimTagArray|CacheTags)'
    'sim\.(Windows\.|ThreadTeam|SharedBanks|Occupancy|EventQueue|ClockDomain|MshrFile|Interference|Smmt|Spinning|ContextMemory|Constant)'
    'walls\.(ColoredHeaps|SliceLayouts|NoWalledDriver)'
    'experiment\.' 'serve\.' 'isolate\.(HostileLeases|LeaseMarks|DefaultFolder|Leases|Partitions|Plan)\.'
)
# g++ knows an attribute in nlohmann's ordered_map that clang does not, so that objects of tests, by g++, and libraries, by
# clang, free it by different sizes. Leaks are looked for nowhere: it takes seconds a process.
export ASAN_OPTIONS=detect_leaks=0:new_delete_type_mismatch=0

# one_of PATTERN...: a pattern that any of them matches at the beginning of a test's name.
one_of() {
    local IFS='|'
    echo "^($*)"
}

test_under_address() {
    build_sanitized address "${address_tests[@]/#/test_}" server_alone fuzzers && run_tests address "$@"
}

everything_under_address() {
    address_tests+=("${long_address_tests[@]}")
    test_under_address address
}

test_under_threads() {
    build_sanitized thread "${thread_tests[@]/#/test_}" || return 1
    run_tests thread thread -R "$(one_of "${threaded_tests[@]}")"
}

test_windows() {
    # a child process has threads of its own: one of the tests
    build_sanitized windows test_sim && TSAN_OPTIONS=die_after_fork=0 run_tests windows windows -R '^sim\.(Windows|ThreadTeam|Functional\.)'
}

prepare() {
    install_missing "$root/scripts/packages" "$root/scripts/test-packages"
    rm -rf "$results"
    mkdir -p "$results"
}

# The sum over all builds, then the verdict.
finish() {
    /usr/bin/python3 "$root/scripts/sum-of-tests" "$results" || failed_steps+=("the sum of all tests")
    if [ ${#failed_steps[@]} -gt 0 ]; then
        printf 'bulkhead: FAILED: %s\n' "${failed_steps[@]}"
        exit 1
    fi
    say "everything passed in $((SECONDS / 60)) min"
    exit 0
}

test_all() {
    [ $# -eq 0 ] || { say "--all takes no argument, but got $1"; exit 2; }
    prepare
    step "format" formatted
    build_release all
    step "tests" run_tests release release
    step "clang-tidy over what changed" "$root/scripts/clang-check" tidy
    step "tests under address and undefined-behaviour sanitizers" test_under_address address -R "$(one_of "${short_tests[@]}")"
    step "tests under the thread sanitizer" test_under_threads
    step "threads of a simulation under the thread sanitizer" test_windows
    step "syntax by clang of what changed" "$root/scripts/clang-check" syntax
    finish
}

kill_at_random() {
    "$build/bulkhead" cc "$root/tests/soak/tenant.cu" -o "$1/tenant" &&
        /usr/bin/python3 "$root/tests/soak/kill_soak.py" --bulkhead "$build/bulkhead" --tenant "$1/tenant" --kills 1000 \
            --json "$1/kill-soak.json"
}

kill_nodes_at_random() {
    /usr/bin/python3 "$root/tests/soak/slurm_soak.py" --bulkhead "$build/bulkhead" --rounds 20 --json "$1/slurm-soak.json"
}

fuzz_for_long() {
    build_sanitized fuzz fuzzers && "$root/scripts/fuzz-long" --build "$root/build/fuzz" --jobs "$(nproc)" --out "$1"
}

test_long() {
    [ $# -le 1 ] || { say "--long takes a folder alone, but got $2"; exit 2; }
    local folder
    folder=$(realpath -m -- "${1-$root/build/long}")
    mkdir -p "$folder"
    prepare
    step "format" formatted
    build_release all
    step "tests" run_tests release release
    step "clang-tidy over everything" "$root/scripts/clang-check" tidy --everything
    step "every test under address and undefined-behaviour sanitizers" everything_under_address
    step "tests under the thread sanitizer" test_under_threads
    step "threads of a simulation under the thread sanitizer" test_windows
    step "syntax by clang of everything" "$root/scripts/clang-check" syntax --everything
    step "processes killed at random" kill_at_random "$folder"
    step "nodes of a cluster killed at random" kill_nodes_at_random "$folder"
    step "long fuzzing" fuzz_for_long "$folder/fuzz"
    cp -r "$results" "$folder"
    finish
}
