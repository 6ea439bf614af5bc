#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/phrases.h"
#include "cli/batch_options.h"
#include "cli/map_pictures.h"
#include "cli/show.h"
#include "cli/style.h"
#include "cli/verbs.h"
#include "compare/comparison.h"
#include "dissect/dissect.h"
#include "evaluation/evaluation.h"
#include "experiment/interruption.h"
#include "gpu/known_profile.h"
#include "report/report.h"
#include "report/values.h"
#include "stress/scenario.h"
#include "stress/stress.h"

namespace bulkhead::cli {
namespace {

struct DemoOptions {
    std::string gpu, out = "bulkhead-report.html";
    BatchOptions batch;
};

// What the papers had, and what answers a question unless somebody chooses.
constexpr const char *kFractionalGpu = "sim:gtx1080", *kInterferenceGpu = "sim:tx2";

/// The four verbs on one small question each, and what became of them.
class Demo {
  public:
    explicit Demo(const DemoOptions& o) : options_(o) {
        summary_.title = "Measured and published values";
        summary_.columns = {{"quantity", ""},  {"GPU", ""},  {"measured", ""},
                            {"published", ""}, {"unit", ""}, {"paper", ""}};
        story_.title = "Before and after";
        story_.columns = {{"act", ""},   {"program", ""},      {"GPU", ""},        {"before", ""},
                          {"after", ""}, {"time before", "x"}, {"time after", "x"}};
    }

    void see() {
        const std::string gpu = chosenOr(kFractionalGpu);
        begin("See it", "find by timing how a GPU maps addresses to L2 slices, sets and DRAM banks:",
              "bulkhead dissect --gpu " + gpu);
        gpu::Gpu opened = gpu::Gpu::open(gpu);
        dissect::Listener silent;
        const dissect::Dissection found = dissect::dissect(opened, dissect::Options(), silent);
        Result r;
        r.title = "Measurements of " + gpu;
        r.columns = {{"property", ""}, {"value", ""}, {"unit", ""}, {"confidence", ""}};
        for (const dissect::Finding& f : found.findings)
            if (!std::holds_alternative<std::monostate>(f.value)) r.add({f.name, f.value, f.unit, f.confidence});
        r.question = fmt::format("How does {} map addresses to its caches and memory?", gpu);
        r.answer = fmt::format("{} of {} properties were told by timing.", r.rows.size(), found.findings.size());
        show(std::move(r), gpu);
        if (const auto profile = gpu::knownProfile(gpu, {}))
            for (Result& picture : mapPictures(*profile)) keep(std::move(picture), gpu);
        for (const Result& figure : found.figures) keep(figure, gpu);
        if (gpu != kFractionalGpu) return;
        // Fractional GPUs, Figure 6 and appendix B.
        compareFinding(found.findings, "DRAM banks", gpu, 128);
        compareFinding(found.findings, "L2 sets", gpu, 1024);
        compareFinding(found.findings, "L2 ways", gpu, 16);
        compareFinding(found.findings, "memory modules", gpu, 8);
    }

    void cause() {
        stress::Options options;
        options.pair.gpu = chosenOr(kInterferenceGpu);
        const gpu::Capabilities can = gpu::capabilitiesOf(options.pair.gpu);
        options.pair.victim.accesses = can.costly ? 4096 : 0;
        options.pair.victim.limitSeconds = can.costly ? 0.25 : 60;
        options.victims = {can.costly ? "random" : "latency"};
        for (const char* name : {"compute", "evict-random"}) {
            corun::AggressorSpec spec;
            spec.kind = corun::findAggressor(name).name;
            options.aggressors.push_back(spec);
        }
        options.samples = can.deterministic ? 2 : 20;
        begin("Cause it", "run a victim and an aggressor on different SMs; they share only L2 and DRAM:",
              fmt::format("bulkhead stress --gpu {} --victim {} --aggressors compute,evict-random --samples {}{}",
                          options.pair.gpu, options.victims.front(), options.samples,
                          can.costly ? " --accesses 4096" : ""));
        stress::Outcome outcome;
        stress::stress(options, outcome);
        for (const stress::Cell& cell : outcome.cells)
            if (cell.pairing.pairs.empty()) throw Error("demo: cannot measure the victim: {}", cell.refusal);
        for (Result& r : outcome.results(options)) {
            const bool first = r.title.starts_with("Interference");
            if (first && options.pair.gpu == kInterferenceGpu) {
                // Towards Demystifying Cache Interference, Table 3.
                addSummary("slowdown beside pure computation", options.pair.gpu, cellOf(r, 0, "slowdown"), 1.0, "x",
                           "Cache Interference, Table 3");
                addSummary("slowdown beside random eviction", options.pair.gpu, cellOf(r, 1, "slowdown"), 2.1, "x",
                           "Cache Interference, Table 3");
            }
            if (first) {
                showResults(stress::briefMatrix(r));
                tellCause(r, options.victims.front(), options.pair.gpu);
            }
            keep(std::move(r), options.pair.gpu);
        }
        for (Result& r : outcome.encounters(options)) keep(std::move(r), options.pair.gpu);
    }

    void wallOff() {
        evaluation::EvaluationSpec spec;
        spec.common.gpu = chosenOr(kFractionalGpu);
        const gpu::Capabilities can = gpu::capabilitiesOf(spec.common.gpu);
        spec.common.samples = can.deterministic ? 1 : 20;
        spec.applications = can.costly ? std::vector<std::string>{"SP", "VA"} : std::vector<std::string>{"latency"};
        spec.neighbours = {can.costly ? "VA" : "stream"};
        spec.methods = {evaluation::Method("none"), evaluation::Method("cp"), evaluation::Method("cmp")};
        begin(
            "Wall it off",
            "the same neighbour without walls (none), with separate SMs (cp), with separate L2 slices and DRAM as well "
            "(cmp):",
            fmt::format("bulkhead isolate evaluate --gpu {} --applications {} --neighbours {} --methods none,cp,cmp",
                        spec.common.gpu, fmt::join(spec.applications, ","), spec.neighbours.front()));
        const evaluation::SeriesStore store(storeFolder(options_.batch), thisProgram(), warnOnce);
        const evaluation::Evaluation evaluation = evaluation::evaluate(spec, store, executorOf(options_.batch));
        for (const std::string& failure : evaluation.failures()) throw Error("demo: {}", failure);
        Result variation = evaluation.variationTable(spec);
        const std::vector<Value>& average = variation.rows[variation.rows.size() - 2];
        if (spec.common.gpu == kFractionalGpu) {
            // Table III has averages over six applications, and of these two only bars.
            addSummary("slowdown with compute walls, SP and VA", spec.common.gpu, average[2], {}, "%",
                       "Fractional GPUs, Figure 9a: bars without numbers");
            addSummary("slowdown with compute and memory walls, SP and VA", spec.common.gpu, average[3], {}, "%",
                       "Fractional GPUs, Figure 9a: bars without numbers");
        }
        tellWalls(average, fmt::format("{}", fmt::join(spec.applications, " and ")), spec.common.gpu);
        show(std::move(variation), spec.common.gpu);
        keep(evaluation.runtimeTable(), spec.common.gpu);
    }

    void designAway() {
        compare::Plan plan;
        plan.common.gpu = "sim:gtx480";
        plan.common.size = workloads::Size::paper;
        plan.common.warpInstructions = 10'000'000;
        plan.workloads = {"ATAX"};
        plan.variants = {{"gto", "gto"}, {"ciao-c", "ciao-c"}};
        begin("Design it away", "run a kernel whose warps thrash the L1D under the GTO scheduler and under CIAO:",
              "bulkhead compare --workloads ATAX --schedulers gto,ciao-c --size paper --limit 10000000");
        compare::RunBatch batch = openBatch(options_.batch);
        const compare::Comparison comparison = compare::compare(batch, plan);
        for (const std::string& failure : comparison.failures()) throw Error("demo: {}", failure);
        addSummary("IPC of CIAO-C over GTO, ATAX", plan.common.gpu, comparison.gain(0, 1), {}, "x",
                   "CIAO, Figure 8a: a bar without a number");
        tellDesign(comparison, plan.common.gpu);
        show(compare::gainTable(comparison), plan.common.gpu);
        keep(compare::stallTable(comparison), plan.common.gpu);
        keep(compare::runTable(comparison), plan.common.gpu);
    }

    void finish() {
        command_ = "bulkhead demo" + (options_.gpu.empty() ? "" : " --gpu " + options_.gpu);
        if (!summary_.rows.empty()) {
            fill(summary_, options_.gpu.empty() ? "simulated" : options_.gpu);
            summary_.question = "Are the numbers those of the papers?";
            summary_.answer = agreement();
            writeOutput("-", "\n" + tableText(summary_) + answerText(summary_));
            results_.push_back(summary_);
        }
        fill(story_, options_.gpu.empty() ? "simulated" : options_.gpu);
        endStory();
        writeOutput("-", "\n" + tableText(story_) + answerText(story_));
        results_.insert(results_.begin(), story_);
        writeOutput(options_.out, report::html("Bulkhead: see it, cause it, wall it off, design it away", results_));
        fmt::print("\nReport with charts and the command of each result: {}\n",
                   std::filesystem::absolute(options_.out).string());
    }

  private:
    std::string chosenOr(const char* usual) const { return options_.gpu.empty() ? usual : options_.gpu; }

    void begin(const std::string& name, const std::string& question, const std::string& command) {
        command_ = command;
        fmt::print("\n{} {}\n$ {}\n", bold(fmt::format("{}. {}:", ++steps_, name), STDOUT_FILENO), question, command);
        std::fflush(stdout);
    }

    void fill(Result& r, const std::string& gpu) const { r.provenance = {command_, gpu, 1, version(), currentDate()}; }
    void keep(Result r, const std::string& gpu) {
        fill(r, gpu);
        results_.push_back(std::move(r));
    }
    void show(Result r, const std::string& gpu) {
        showResults(r);
        keep(std::move(r), gpu);
    }

    /// A program in an act: what it had before and after, in words and as its time over what it takes undisturbed.
    void tell(const std::string& act, const std::string& program, const std::string& gpu, const std::string& before,
              const std::string& after, double timeBefore, double timeAfter) {
        story_.add({act, program, gpu, before, after, timeBefore, timeAfter});
        sentences_.push_back(fmt::format("{}: {}, {}", program, before, after));
    }

    void tellCause(const Result& matrix, const std::string& victim, const std::string& gpu) {
        const double alone = report::number(cellOf(matrix, 1, "solo mean")) * 1e-3,
                     together = report::number(cellOf(matrix, 1, "mean")) * 1e-3;
        tell("Cause it", victim, gpu, fmt::format("{} alone", duration(alone)),
             fmt::format("{} beside evict-random", duration(together)), 1, together / alone);
    }

    /// `average`: its name, then what neighbours cost without walls, with compute walls and with both, in percent.
    void tellWalls(const std::vector<Value>& average, const std::string& programs, const std::string& gpu) {
        const double open = report::number(average[1]), walled = report::number(average[3]);
        tell("Wall it off", programs, gpu, fmt::format("{:.0f} % slower beside a neighbour", open),
             fmt::format("{:.1f} % behind walls", walled), 1 + open / 100, 1 + walled / 100);
    }

    void tellDesign(const compare::Comparison& c, const std::string& gpu) {
        const double gto = c.at(0, 0).measurement.ipc(), ciao = c.at(0, 1).measurement.ipc();
        tell("Design it away", c.plan.workloads.front(), gpu,
             fmt::format("{} instructions per cycle under GTO", brief(gto)),
             fmt::format("{} under CIAO-C", brief(ciao)), 1, gto / ciao);
    }

    void endStory() {
        story_.question = "What does interference cost, and what helps?";
        story_.answer = fmt::format("{}.", fmt::join(sentences_, "; "));
        story_.reading =
            "Time over that of the same program undisturbed; of the last act, over its time under the usual scheduler.";
        story_.charts = {{Chart::Kind::bar,
                          "Time before and after each act",
                          "act",
                          {"time before", "time after"},
                          {},
                          {},
                          "time, times undisturbed",
                          false,
                          false}};
    }

    std::string agreement() const {
        constexpr double kAgrees = 0.1;
        constexpr std::size_t kMeasured = 2, kPublished = 3;
        std::size_t published = 0, agree = 0;
        for (const auto& row : summary_.rows) {
            const double ours = report::number(row[kMeasured]), theirs = report::number(row[kPublished]);
            if (std::isnan(theirs)) continue;
            ++published;
            agree += std::abs(ours / theirs - 1) <= kAgrees ? 1 : 0;
        }
        return fmt::format("Of {}, {} agree within 10 %.", counted(published, "published number"), agree);
    }

    static Value cellOf(const Result& r, std::size_t row, const std::string& column) {
        for (std::size_t c = 0; c < r.columns.size(); ++c)
            if (r.columns[c].name == column) return r.rows.at(row)[c];
        throw Error("demo: no column {} in {}", column, r.title);
    }

    /// `papers`: its number for the same, if it has one.
    void addSummary(const std::string& question, const std::string& gpu, Value ours, Value papers,
                    const std::string& unit, const std::string& paper) {
        summary_.add({question, gpu, std::move(ours), std::move(papers), unit, paper});
    }

    void compareFinding(const std::vector<dissect::Finding>& findings, const std::string& name, const std::string& gpu,
                        int papers) {
        for (const dissect::Finding& f : findings)
            if (f.name == name) addSummary(name, gpu, f.value, papers, "", "Fractional GPUs, Figure 6");
    }

    const DemoOptions& options_;
    std::string command_;
    int steps_ = 0;
    Result summary_, story_;
    std::vector<std::string> sentences_;
    std::vector<Result> results_;
};

int runDemo(const DemoOptions& o) {
    if (!o.gpu.empty()) gpu::Gpu::open(o.gpu);  // refuses an unknown one before anything is printed
    expectOutputs({o.out});
    openBatch(o.batch);  // likewise, a folder that cannot keep runs
    corun::loadModulesEagerly();
    experiment::catchInterrupts();
    Demo demo(o);
    demo.see();
    demo.cause();
    demo.wallOff();
    if (o.gpu.empty() || gpu::capabilitiesOf(o.gpu).settable) demo.designAway();
    demo.finish();
    return kDone;
}

}  // namespace

Action setUpDemo(CommandLine line) {
    const auto o = std::make_shared<DemoOptions>();
    line.option("--gpu", o->gpu, "GPU for all parts: sim:NAME, sim:FILE.json or cuda:N [one per part]").typeName("GPU");
    line.option("--out", o->out, "write the HTML report to FILE").typeName("FILE").showDefault();
    addBatchOptions(line, o->batch);
    return [o] { return runDemo(*o); };
}

}  // namespace bulkhead::cli
