// Any text is a map as dissect writes them, which places every address, or an Error that says why not.

#include "any_bytes.h"
#include "dissect/map_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] {
        const dissect::MapFile map =
            dissect::mapFileFromJson(parseJson(fuzz::textOf(data, size), "<fuzzer>"), "<fuzzer>");
        fuzz::locateSome(map.map);
        fuzz::expectReadable([&] { dissect::mapFileFromJson(fuzz::readAgain(dissect::toJson(map)), "<written>"); });
    });
}
