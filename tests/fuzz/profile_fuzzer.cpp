// Any text is a profile of a GPU that can be written and read again, or an Error that says why not.

#include "any_bytes.h"
#include "arch/device_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] {
        const auto profile = arch::DeviceProfile::fromJson(parseJson(fuzz::textOf(data, size), "<fuzzer>"), "<fuzzer>");
        fuzz::locateSome(profile.map);
        fuzz::expectReadable([&] { arch::DeviceProfile::fromJson(fuzz::readAgain(profile.toJson()), "<written>"); });
    });
}
