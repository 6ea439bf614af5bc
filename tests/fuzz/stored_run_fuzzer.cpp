// Any bytes are a file of a store, or an Error; whatever it holds are figures of a run or of a series, or an Error.

#include "any_bytes.h"
#include "compare/store.h"
#include "evaluation/series.h"

namespace {

using namespace bulkhead;

void read(const std::string& text) {
    fuzz::tryReading([&] {
        const experiment::StoredResult stored = experiment::readStored(text, "<fuzzer>");
        fuzz::tryReading([&] { compare::RunMeasurement::fromJson(stored.measurement, "measurement"); });
        fuzz::tryReading([&] { evaluation::SeriesMeasurement::fromJson(stored.measurement, "measurement"); });
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text = fuzz::textOf(data, size);
    read(text);
    // The same behind a checksum that is right, but for the brace that opens it.
    const std::string rest = text.substr(std::min<std::size_t>(size, 1));
    read(R"({"checksum":")" + experiment::fingerprint(rest) + R"(",)" + rest);
    return 0;
}
