#pragma once

namespace bulkhead {

/// The library that puts our CUDA runtime in the place of one that is linked into a program; LD_PRELOAD names it.
constexpr char kStaticRuntimeLibrary[] = "libbulkhead-static-runtime.so";

/// What it exports: looks at libraries that were loaded since it last did.
constexpr char kLookAtLibraries[] = "bulkheadLookAtLibraries";

/// How NVIDIA's archive names its inner functions: what a program with it has among its symbols, unless stripped.
constexpr char kNvidiaRuntimeSymbols[] = "libcudart_static_";

}  // namespace bulkhead
