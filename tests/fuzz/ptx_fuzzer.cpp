// Any text is a module that can be lowered, or a PtxError that says where it is not.

#include "ptx/module.h"
#include "sim/exec/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    try {
        bulkhead::sim::lower(bulkhead::ptx::parse(std::string(reinterpret_cast<const char*>(data), size), "<fuzzer>"));
    } catch (const bulkhead::Error&) {
    }
    return 0;
}
