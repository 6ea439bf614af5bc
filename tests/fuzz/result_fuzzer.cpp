// Any text holds results that can be shown in every way, or an Error that says why not.

#include "any_bytes.h"
#include "report/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] {
        const std::vector<Result> results =
            report::resultsIn(parseJson(fuzz::textOf(data, size), "<fuzzer>"), "<fuzzer>");
        for (const Result& result : results) {
            report::text(result);
            report::csv(result);
            for (const Chart& chart : result.charts) report::svg(result, chart);
            fuzz::expectReadable([&] { report::fromJson(fuzz::readAgain(report::json(result)), "<written>"); });
        }
        report::html("", report::sideBySide(results));
        report::html("", results);
    });
}
