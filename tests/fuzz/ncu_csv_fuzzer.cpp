// Any text is a page of Nsight Compute's counters, or none. What was read can be written, and is then the same.

#include <cstdlib>

#include "any_bytes.h"
#include "metrics/kernel_name.h"
#include "metrics/ncu_csv.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace bulkhead;
    return fuzz::tryReading([&] {
        const auto runs = metrics::readNcuCsv(fuzz::textOf(data, size), "<input>");
        const std::vector<metrics::LaunchRow> rows = metrics::mergeRuns(runs);
        for (const metrics::LaunchRow& row : rows) metrics::kernelName(row.kernel);
        if (rows.empty()) return;
        fuzz::expectReadable([&] {
            const auto again = metrics::readNcuCsv(metrics::ncuCsv(rows), "<written>");
            if (again.size() != 1 || again.front().size() != rows.size()) std::abort();
        });
    });
}
