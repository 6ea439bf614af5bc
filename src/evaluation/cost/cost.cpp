#include "evaluation/cost/cost.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/suggest.h"
#include "evaluation/cost/bench.h"

namespace bulkhead::evaluation::cost {

const std::vector<Measurement>& measurements() {
    static const std::vector<Measurement> all = {
        {"launches", "How much longer does a launch take inside compute walls?", measureLaunches},
        {"bandwidth", "How much of the GPU's memory bandwidth do tenants get, one by one and together?",
         measureBandwidth},
        {"translation", "How much bandwidth does the translation of addresses cost?", measureTranslation, expectSides},
        {"views", "How fast, and how right, are kernels that translate in their own code?", measureViews},
        {"latency", "How much longer does an access take while other tenants stream?", measureLatency,
         expectNeighbours},
        {"sample", "How many addresses of a tenant seem to have another tenant's color?", sampleColors},
        {"workloads", "Are workloads right inside walls, and how much longer do they take?", measureWorkloads},
    };
    return all;
}

const Measurement& findMeasurement(std::string_view name) {
    std::vector<std::string> names;
    for (const Measurement& m : measurements()) {
        if (m.name == name) return m;
        names.emplace_back(m.name);
    }
    throw Error("no measurement {}{}: there are {}", name, didYouMean(std::string(name), names),
                fmt::join(names, ", "));
}

CostReport measureCost(const CostSpec& spec, const std::vector<std::string>& names) {
    std::vector<const Measurement*> chosen;
    chosen.reserve(names.size());
    for (const std::string& name : names) chosen.push_back(&findMeasurement(name));
    Bench bench(spec);
    for (const Measurement* m : chosen)
        if (m->expect) m->expect(bench);
    CostReport report;
    for (const Measurement* m : chosen) {
        try {
            report.results.push_back(m->measure(bench));
            report.results.back().question = m->question;
        } catch (const Error& error) {
            bench.fail(error.what());
        }
    }
    report.failures = bench.failures();
    return report;
}

}  // namespace bulkhead::evaluation::cost
