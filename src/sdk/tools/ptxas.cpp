// What clang, Triton and XLA call to assemble PTX: `ptxas [options] --output-file OUT IN`. The PTX itself is what our
// driver runs and NVIDIA's compiles when it is loaded, so it is passed on as it is.

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/files.h"

namespace {

/// Triton and XLA make the PTX that this version knows: drivers of CUDA 12.8 and newer load it. Triton reads the number
/// after "release", XLA that after "V".
constexpr const char* kVersion =
    "bulkhead: PTX is passed on to the driver\nCuda compilation tools, release 12.8, V12.8.93\n";

void copyThrough(int count, char** arguments) {
    std::string input, output;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--version" || argument == "-V") {
            fmt::print("{}", kVersion);
            return;
        }
        const bool takesValue = argument == "--output-file" || argument == "-o" || argument == "--gpu-name";
        if (takesValue && i + 1 == count) throw bulkhead::Error("{} needs a value", argument);
        if (takesValue) {
            ++i;
            if (argument != "--gpu-name") output = arguments[i];
        } else if (!argument.starts_with("-")) {
            input = argument;
        }
    }
    if (input.empty() || output.empty()) throw bulkhead::Error("usage: ptxas [options] --output-file OUT IN");
    // Whoever loads it as an image does not say where it ends.
    bulkhead::writeFile(output, bulkhead::readFile(input) + '\0');
}

}  // namespace

int main(int count, char** arguments) {
    try {
        copyThrough(count, arguments);
        return 0;
    } catch (const std::exception& e) {
        fmt::print(stderr, "ptxas: {}\n", e.what());
        return 2;
    }
}
