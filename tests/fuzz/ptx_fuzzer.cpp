// Any text is a module that can be lowered, or an Error that says where it is not.

#include "any_bytes.h"
#include "ptx/module.h"
#include "sim/exec/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] { sim::lower(ptx::parse(fuzz::textOf(data, size), "<fuzzer>")); });
}
