// Any text is a scenario, or an Error that says why not.

#include "any_bytes.h"
#include "arch/device_profile.h"
#include "stress/scenario.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    static const arch::DeviceProfile gpu = arch::findProfile("tx2");
    return fuzz::tryReading([&] {
        stress::Options options = stress::scenarioFromJson(parseJson(fuzz::textOf(data, size), "<fuzzer>"), "<fuzzer>");
        fuzz::tryReading([&] {
            arch::DeviceProfile changed = gpu;
            arch::applySettings(changed, options.pair.settings);
        });
        // Whatever files there are, they are not input; and a simulated GPU's profile takes long to read.
        options.pair.gpu = "cuda:0";
        options.pair.map.clear();
        stress::validate(options);
    });
}
