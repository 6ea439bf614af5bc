// Any bytes are a fatbin, or an Error that says why not.

#include <cstring>

#include "base/error.h"
#include "driver/fatbin.h"

namespace {

void readAll(std::span<const std::uint8_t> bytes) {
    using bulkhead::driver::Fatbin;
    try {
        const Fatbin fatbin = Fatbin::read(bytes);
        fatbin.bestPtx(75);
        for (const Fatbin::Entry& entry : fatbin.entries()) Fatbin::text(entry);
    } catch (const bulkhead::Error&) {
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    readAll({data, size});
    // The same bytes behind a good header: what follows it is reached at once.
    std::vector<std::uint8_t> whole(bulkhead::driver::Fatbin::kHeaderBytes + size);
    const std::uint32_t magic = bulkhead::driver::Fatbin::kMagic;
    const std::uint16_t version = 1, headerBytes = bulkhead::driver::Fatbin::kHeaderBytes;
    const std::uint64_t bytes = size;
    std::memcpy(whole.data(), &magic, sizeof magic);
    std::memcpy(whole.data() + 4, &version, sizeof version);
    std::memcpy(whole.data() + 6, &headerBytes, sizeof headerBytes);
    std::memcpy(whole.data() + 8, &bytes, sizeof bytes);
    if (size) std::memcpy(whole.data() + headerBytes, data, size);
    readAll(whole);
    return 0;
}
