# Large headers are read once for all sources that are compiled in the same way, instead of once for each: a build takes
# ten minutes instead of fourteen. Sources include what they need all the same; clang-tidy reads those that changed without
# this in `./test --all`, and all of them in `./test --long`.
option(BULKHEAD_PRECOMPILE "Read large headers once for many sources" ON)

set(bulkhead_precompiled <algorithm> <chrono> <cstdint> <filesystem> <fmt/format.h> <functional> <map> <memory>
                         <optional> <span> <string> <string_view> <utility> <vector>)

# bulkhead_precompile(target first header...): `first` is the target of those that are compiled in the same way which has
# the headers compiled; the headers are given with it.
function(bulkhead_precompile target first)
    if(NOT BULKHEAD_PRECOMPILE)
        return()
    elseif(target STREQUAL first)
        target_precompile_headers(${target} PRIVATE ${bulkhead_precompiled} ${ARGN})
    else()
        target_precompile_headers(${target} REUSE_FROM ${first})
    endif()
endfunction()
