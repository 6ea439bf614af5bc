# What keeps the time short until the first command runs: docs/install.md has the figures.

# Large headers are read once for all sources that are compiled in the same way, instead of once for each. Sources include
# what they need all the same; clang-tidy reads those that changed without this in `./test --all`, and all of them in
# `./test --long`.
option(BULKHEAD_PRECOMPILE "Read large headers once for many sources" ON)

set(bulkhead_precompiled <algorithm> <chrono> <cstdint> <filesystem> <fmt/format.h> <functional> <map> <memory>
                         <optional> <span> <string> <string_view> <utility> <vector>)

# bulkhead_precompile(target way header...): targets of the same way are compiled with the same options. The first of them
# has the headers compiled, and those that are given here.
function(bulkhead_precompile target way)
    if(NOT BULKHEAD_PRECOMPILE)
        return()
    endif()
    get_property(first GLOBAL PROPERTY bulkhead_precompiled_${way})
    if(first)
        target_precompile_headers(${target} REUSE_FROM ${first})
    else()
        set_property(GLOBAL PROPERTY bulkhead_precompiled_${way} ${target})
        target_precompile_headers(${target} PRIVATE ${bulkhead_precompiled} ${ARGN})
    endif()
endfunction()

# Several sources of a library are compiled as one: templates that they have in common are compiled once. Who works on one
# library turns it off (-DBULKHEAD_TOGETHER=OFF) and waits for one source only. Names of anonymous namespaces must differ
# within a library.
option(BULKHEAD_TOGETHER "Compile several sources of a library as one" ON)

function(bulkhead_compile_together target)
    if(BULKHEAD_TOGETHER)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    endif()
endfunction()

# g++ looks for memory that it no longer needs from 128 MB on, and finds little: 256 MB save up to a tenth of its time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_compile_options(--param=ggc-min-heapsize=262144)
endif()

# For what waits for a GPU, or for its user: a third of the time that it would take to compile is worth more.
function(bulkhead_compile_quickly target)
    target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)
endfunction()
