#pragma once

namespace bulkhead {

/// The library that stands before the dynamic linker of programs inside walls; LD_AUDIT names it.
constexpr char kGateLibrary[] = "libbulkhead-gate.so";

}  // namespace bulkhead
