// Any bytes are a fatbin, or an Error that says why not.

#include <cstring>

#include "any_bytes.h"
#include "driver/fatbin.h"

namespace {

using bulkhead::driver::Fatbin;

void readAll(std::span<const std::uint8_t> bytes) {
    bulkhead::fuzz::tryReading([&] {
        const Fatbin fatbin = Fatbin::read(bytes);
        fatbin.bestPtx(75);
        fatbin.machineTargets();
        for (const Fatbin::Entry& entry : fatbin.entries()) bulkhead::fuzz::tryReading([&] { Fatbin::text(entry); });
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    readAll({data, size});
    // The same bytes behind a good header: what follows it is reached at once.
    std::vector<std::uint8_t> whole(Fatbin::kHeaderBytes + size);
    const std::uint32_t magic = Fatbin::kMagic;
    const std::uint16_t version = 1, headerBytes = Fatbin::kHeaderBytes;
    const std::uint64_t bytes = size;
    std::memcpy(whole.data(), &magic, sizeof magic);
    std::memcpy(whole.data() + 4, &version, sizeof version);
    std::memcpy(whole.data() + 6, &headerBytes, sizeof headerBytes);
    std::memcpy(whole.data() + 8, &bytes, sizeof bytes);
    if (size) std::memcpy(whole.data() + headerBytes, data, size);
    readAll(whole);
    return 0;
}
