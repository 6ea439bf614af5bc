#include "reproduce/fgpu.h"

#include <algorithm>

#include "base/error.h"
#include "base/statistics.h"

namespace bulkhead::reproduce {
namespace {

using evaluation::Evaluation;
using evaluation::EvaluationSpec;
using evaluation::Method;

/// A row of Tables III and IV: variation in runtime, in percent.
struct PaperVariation {
    const char* gpu;
    const char* method;
    double average, most;
};

const std::vector<PaperVariation> kTable3 = {
    {"sim:gtx1080", "cp", 130.4, 226.7}, {"sim:gtx1080", "cmp", 7.5, 24.6}, {"sim:v100", "mps", 135.8, 273.3},
    {"sim:v100", "cp", 48.1, 127.7},     {"sim:v100", "cmp", 8.7, 18.3},
};
const std::vector<PaperVariation> kTable4 = {
    {"sim:v100", "mps", 260.6, 510.0},
    {"sim:v100", "cp", 79.0, 106.8},
    {"sim:v100", "cmp", 7.3, 12.3},
};
/// V-B, of IC on a GTX 1080.
const std::vector<PaperVariation> kFigure10 = {
    {"sim:gtx1080", "cp", 104.6, 104.6},
    {"sim:gtx1080", "cmp", 19.5, 19.5},
};

/// MPS could divide the V100 only.
std::vector<Method> methodsOn(const std::string& gpu) {
    if (gpu == "sim:gtx1080") return {Method("cp"), Method("cmp")};
    return {Method("mps"), Method("cp"), Method("cmp")};
}

EvaluationSpec specOf(const FgpuOptions& o, const std::string& gpu, unsigned partitions) {
    EvaluationSpec spec;
    spec.common = o.common;
    spec.common.gpu = gpu;
    spec.methods = methodsOn(gpu);
    spec.partitions = {partitions};
    spec.applications = o.applications;
    return spec;
}

Evaluation evaluateAll(const evaluation::SeriesStore& store, const FgpuOptions& o, const EvaluationSpec& spec) {
    Evaluation evaluation = evaluation::evaluate(spec, store, o.executor);
    if (!evaluation.failures().empty()) throw Error("{}", evaluation.failures().front());
    return evaluation;
}

/// Nothing of a single sample.
Value spreadOf(const std::vector<double>& samples) {
    return samples.size() > 1 ? Value(standardDeviation(samples)) : Value();
}

/// What samples are, and where there is but one.
void addSpreadCaveat(Result& r, const FgpuOptions& o) {
    r.caveats.emplace_back(
        o.common.samples == 1
            ? "One sample each: there is nothing to tell how much times vary. The paper has 1000."
            : "Samples differ by inputs, placement of pages and the time at which the application starts; the paper "
              "has 1000 in a row.");
}

/// Average and maximum over the applications, ours beside the paper's.
Result variationRows(const evaluation::SeriesStore& store, const FgpuOptions& o,
                     const std::vector<PaperVariation>& paper, unsigned partitions) {
    Result r;
    r.title = "worst slowdown by a neighbour (variation in runtime)";
    r.columns = {
        {"GPU", ""},    {"partitions", ""}, {"method", ""},           {"average", "%"}, {"paper's average", "%"},
        {"ratio", ""},  {"maximum", "%"},   {"paper's maximum", "%"}, {"slowest", ""},  {"spread of the average", "%"},
        {"samples", ""}};
    for (const PaperVariation& row : paper) {
        const EvaluationSpec spec = specOf(o, row.gpu, partitions);
        const Evaluation evaluation = evaluateAll(store, o, spec);
        std::vector<double> all;
        std::string slowest;
        for (const std::string& application : spec.applications) {
            const double v = evaluation.variation(Method(row.method), partitions, application).value();
            if (all.empty() || v > maximum(all)) slowest = application;
            all.push_back(v);
        }
        r.add({std::string(row.gpu), std::int64_t{partitions}, std::string(row.method), mean(all), row.average,
               mean(all) / row.average, maximum(all), row.most, slowest,
               spreadOf(evaluation.averageVariations(Method(row.method), partitions, spec.applications)),
               std::int64_t{o.common.samples}});
    }
    addSpreadCaveat(r, o);
    return r;
}

/// One bar for each application, method and neighbour, as in Figures 9 and 11.
Result runtimes(const Evaluation& evaluation) {
    Result r = evaluation.runtimeTable();
    r.title = "normalized runtime of the application in partition 1";
    Chart chart;
    chart.kind = Chart::Kind::bar;
    chart.title = r.title;
    chart.x = "application";
    chart.y = {"normalized"};
    chart.series = {"method", "neighbour"};
    r.charts = {chart};
    return r;
}

std::vector<Result> figureOf(const evaluation::SeriesStore& store, const FgpuOptions& o, const std::string& gpu,
                             unsigned partitions) {
    const EvaluationSpec spec = specOf(o, gpu, partitions);
    const Evaluation evaluation = evaluateAll(store, o, spec);
    std::vector<Result> results = {runtimes(evaluation), evaluation.variationTable(spec),
                                   evaluation.overheadTable(spec)};
    if (o.common.samples > 1) results.push_back(evaluation.spreadTable(spec));
    return results;
}

std::vector<Result> table3(const evaluation::SeriesStore& store, const FgpuOptions& o) {
    return {variationRows(store, o, kTable3, 2)};
}
std::vector<Result> table4(const evaluation::SeriesStore& store, const FgpuOptions& o) {
    return {variationRows(store, o, kTable4, 4)};
}
/// What V-A says of Figure 9a, in numbers: splitting bandwidth costs every application, also beside idle neighbours,
/// and vector addition needs no more than half of the SMs.
Result observations(const Evaluation& evaluation, const EvaluationSpec& spec) {
    const auto alone = [&](const char* method, const std::string& application) {
        return evaluation.normalized({Method(method), 2, application, ""}).value();
    };
    const auto faster = std::count_if(spec.applications.begin(), spec.applications.end(),
                                      [&](const std::string& name) { return alone("cp", name) < alone("cmp", name); });
    Result r;
    r.title = "idle neighbours";
    r.columns = {{"observation", ""}, {"ours", ""}, {"paper", ""}};
    r.add({std::string("applications faster with cp than with cmp"), std::int64_t{faster},
           static_cast<std::int64_t>(spec.applications.size())});
    if (std::count(spec.applications.begin(), spec.applications.end(), "VA") != 0)
        r.add({std::string("normalized runtime of VA with cp"), alone("cp", "VA"), 0.5});
    return r;
}

std::vector<Result> figure9a(const evaluation::SeriesStore& store, const FgpuOptions& o) {
    const EvaluationSpec spec = specOf(o, "sim:gtx1080", 2);
    std::vector<Result> results = figureOf(store, o, "sim:gtx1080", 2);
    results.push_back(observations(evaluateAll(store, o, spec), spec));
    return results;
}
std::vector<Result> figure9b(const evaluation::SeriesStore& store, const FgpuOptions& o) {
    return figureOf(store, o, "sim:v100", 2);
}
std::vector<Result> figure11(const evaluation::SeriesStore& store, const FgpuOptions& o) {
    return figureOf(store, o, "sim:v100", 4);
}

/// Image classification beside itself and the others.
std::vector<Result> figure10(const evaluation::SeriesStore& store, const FgpuOptions& o) {
    EvaluationSpec spec = specOf(o, "sim:gtx1080", 2);
    spec.applications = {"IC"};
    spec.neighbours.push_back("IC");
    const Evaluation evaluation = evaluateAll(store, o, spec);
    Result r;
    r.title = "worst slowdown of IC by a neighbour";
    r.columns = {{"method", ""}, {"variation", "%"}, {"paper's variation", "%"},
                 {"ratio", ""},  {"spread", "%"},    {"samples", ""}};
    for (const PaperVariation& row : kFigure10) {
        const double v = evaluation.variation(Method(row.method), 2, "IC").value();
        r.add({std::string(row.method), v, row.average, v / row.average,
               spreadOf(evaluation.variations(Method(row.method), 2, "IC")), std::int64_t{o.common.samples}});
    }
    addSpreadCaveat(r, o);
    if (o.common.size != workloads::Size::paper)
        r.caveats.emplace_back(
            "At this size IC is a smaller AlexNet: images of 115 pixels instead of 227, half of the channels, 1024 "
            "hidden "
            "units instead of 4096. --size paper runs the full one.");
    r.caveats.emplace_back(
        "Kernels alone are timed, with image and weights on the GPU; the paper timed all of IC, copies between CPU and "
        "GPU included.");
    return {runtimes(evaluation), r};
}

std::vector<Result> figure3(const evaluation::SeriesStore&, const FgpuOptions& o) {
    return o.memory->figure3();
}
std::vector<Result> figure4(const evaluation::SeriesStore&, const FgpuOptions& o) {
    return o.memory->figure4();
}
std::vector<Result> figure6(const evaluation::SeriesStore&, const FgpuOptions& o) {
    return o.memory->figure6();
}
std::vector<Result> figure8(const evaluation::SeriesStore&, const FgpuOptions& o) {
    return o.memory->figure8();
}

}  // namespace

const std::vector<FgpuFigure>& fgpuFigures() {
    static const std::vector<FgpuFigure> all = {
        {"3", "Access time of address pairs on a GTX 1080", figure3},
        {"4", "Histogram of access times on a GTX 1080", figure4},
        {"6", "Banks, sets and modules of a GTX 1080", figure6},
        {"8", "Interference between threads of a GTX 1080", figure8},
        {"table3", "Variation, two partitions", table3},
        {"9a", "Applications on a GTX 1080, two partitions", figure9a},
        {"9b", "Applications on a V100, two partitions", figure9b},
        {"10", "Image classification with Caffe on a GTX 1080", figure10},
        {"table4", "Variation, four partitions", table4},
        {"11", "Applications on a V100, four partitions", figure11},
    };
    return all;
}

}  // namespace bulkhead::reproduce
