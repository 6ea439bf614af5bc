// Any text is partitions, as of a command line or of a file, or an Error that says why not.

#include "any_bytes.h"
#include "isolate/partitions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    const std::string text = fuzz::textOf(data, size);
    fuzz::tryReading([&] { isolate::parsePartitions(text); });
    return fuzz::tryReading([&] {
        const auto partitions = isolate::partitionsFromJson(parseJson(text, "<fuzzer>"), "<fuzzer>");
        fuzz::expectReadable(
            [&] { isolate::partitionsFromJson(fuzz::readAgain(isolate::toJson(partitions)), "<written>"); });
    });
}
