#include "cli/isolate_cost.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/batch_options.h"
#include "cli/common_options.h"
#include "cli/result_stream.h"
#include "cli/show.h"
#include "evaluation/cost/cost.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

struct CostOptions {
    evaluation::cost::CostSpec spec;
    std::vector<std::string> measurements = {"launches", "bandwidth", "latency", "sample"};
    std::string json, html;
    bool list = false;
};

void list() {
    Result names;
    names.title = "What isolate cost measures";
    names.columns = {{"measurement", ""}, {"question", ""}};
    for (const auto& m : evaluation::cost::measurements()) names.add({std::string(m.name), std::string(m.question)});
    writeOutput("-", report::text(names));
}

int measure(const CostOptions& o) {
    if (o.list) {
        list();
        return kDone;
    }
    expectOutputs({o.json, o.html});
    evaluation::cost::CostReport report = evaluation::cost::measureCost(o.spec, o.measurements);
    for (Result& result : report.results) fillProvenance(result, o.spec.gpu, o.spec.seed);
    if (o.json.empty() && o.html.empty()) showResults(report.results);
    if (!o.json.empty()) writeResults(o.json, report.results);
    if (!o.html.empty()) writeOutput(o.html, report::html("bulkhead isolate cost", report.results));
    for (const std::string& line : report.failures) fmt::print(stderr, "bulkhead: isolate cost: {}\n", line);
    return report.failures.empty() ? kDone : kCheckFailed;
}

}  // namespace

void setUpCost(CommandLine isolate, const std::shared_ptr<Action>& chosen) {
    CommandLine sub = isolate.verb("cost", "measure what walls cost and what they keep out");
    const auto o = std::make_shared<CostOptions>();
    evaluation::cost::CostSpec& spec = o->spec;
    addGpuOption(sub, spec.gpu);
    addSettings(sub, spec.settings);
    addThreadsOption(sub);
    sub.option("--measure", o->measurements, "measurements to make (--list shows them)")
        .typeName("NAME")
        .delimiter(',')
        .showDefault();
    sub.option("--partitions", spec.partitions, "number of partitions, all of one size")
        .showDefault()
        .check(between(1, 64));
    sub.option("--coloring", spec.coloring,
               "what memory walls divide: pages (simulated GPU), sides or slices of the L2")
        .typeName("HOW")
        .showDefault();
    addMapOption(sub, spec.map);
    sub.option("--placement", spec.placement, "how blocks are confined: blocks (extra ones exit early) or driver")
        .typeName("HOW")
        .showDefault();
    sub.option("--megabytes", spec.megabytes, "size of each array [128 on a real GPU, 2 on a simulated one]")
        .typeName("MB")
        .check(between(1, 4096));
    sub.option("--repeats", spec.repeats, "samples of each time [21 on a real GPU, 1 on a simulated one]")
        .check(positive());
    sub.option("--workloads", spec.workloads, "workloads of the measurement workloads [all]")
        .typeName("NAME")
        .delimiter(',');
    sub.option("--size", spec.size, "size of their input [default on a real GPU, test on a simulated one]")
        .typeName("SIZE");
    sub.option("--seed", spec.seed, "seed of input and sampled addresses").showDefault();
    sub.option("--ptx", spec.ptx, "kernels of src/evaluation/cost, compiled by another compiler").typeName("FILE");
    sub.flag("--list", o->list, "list the measurements and the questions that they answer");
    addJsonOption(sub, o->json);
    addHtmlOption(sub, o->html);
    addWideOption(sub);
    sub.chosen([=] { *chosen = [=] { return measure(*o); }; });
}

}  // namespace bulkhead::cli
