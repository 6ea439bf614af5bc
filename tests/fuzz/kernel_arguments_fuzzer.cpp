// Any text is an argument of a kernel, or an extent, or an Error that says why not.

#include "any_bytes.h"
#include "cli/kernel_arguments.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    const std::string text = fuzz::textOf(data, size);
    // Whatever files there are, they are not input.
    if (text.find("file:") == std::string::npos)
        fuzz::tryReading([&] { cli::parseKernelArgument(text, Bytes{1} << 16); });
    return fuzz::tryReading([&] { cli::parseExtent(text, "--grid"); });
}
