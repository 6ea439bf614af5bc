// Any text is a configuration of GPGPU-Sim, of which a profile is made that can be written and read, or an Error that
// says why not.

#include "any_bytes.h"
#include "gpgpusim/profile_import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] {
        const std::string text = fuzz::textOf(data, size);
        gpgpusim::flitSize(text, "<input>");
        gpgpusim::Configuration configuration;
        configuration.read(text, "<input>");
        gpgpusim::networkFile(configuration);
        const gpgpusim::Imported imported = gpgpusim::importProfile(configuration, {"fuzzed", "gtx480", {}});
        fuzz::locateSome(imported.profile.map);
        fuzz::expectReadable(
            [&] { arch::DeviceProfile::fromJson(fuzz::readAgain(imported.profile.toJson()), "<written>"); });
    });
}
