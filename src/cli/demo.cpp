#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "base/phrases.h"
#include "cli/batch_options.h"
#include "cli/map_pictures.h"
#include "cli/show.h"
#include "cli/style.h"
#include "cli/verbs.h"
#include "compare/comparison.h"
#include "corun/sharing.h"
#include "dissect/dissect.h"
#include "experiment/interruption.h"
#include "gpu/known_profile.h"
#include "isolate/divided_gpu.h"
#include "isolate/plan_picture.h"
#include "report/report.h"
#include "report/values.h"
#include "stress/stress.h"

namespace bulkhead::cli {
namespace {

using corun::WallsAround;

struct DemoOptions {
    std::string gpu, out = "bulkhead-report.html";
    BatchOptions batch;
};

/// What all acts are about, where simulated time is costly and where it is not.
struct Cast {
    std::string gpu, program, neighbour = "stream-read-write", harmless = "compute";
    gpu::Capabilities can;
};

Cast castOn(const std::string& gpu) {
    Cast cast;
    cast.gpu = gpu;
    cast.can = gpu::capabilitiesOf(gpu);
    cast.program = cast.can.costly ? "SYR2K" : "latency";
    return cast;
}

// The GPU of the Fractional GPUs paper.
constexpr const char* kUsualGpu = "sim:gtx1080";

double meanOf(const std::vector<double>& times) {
    return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

std::string percent(double share) {
    return fmt::format("{:.0f} %", 100 * share);
}

/// One program in four acts, and what became of it in each.
class Demo {
  public:
    explicit Demo(const DemoOptions& o) : options_(o), cast_(castOn(o.gpu.empty() ? kUsualGpu : o.gpu)) {
        summary_.title = "Measured and published values";
        summary_.columns = {{"quantity", ""}, {"measured", ""}, {"published", ""}, {"paper", ""}};
        story_.title = "Before and after";
        story_.columns = {{"act", ""}, {"before", ""}, {"after", ""}, {"time before", "x"}, {"time after", "x"}};
    }

    void see() {
        begin("See it", fmt::format("what {} shares with others on {}, and what it costs to share SMs alone:",
                                    cast_.program, cast_.gpu));
        dissectGpu();
        if (cast_.can.costly) watchAlone();
        stress::Options options = pairing({cast_.harmless}, {WallsAround::nothing});
        const stress::Outcome outcome = measure(options);
        alone_ = meanOf(outcome.cells.front().pairing.alone());
        tell("See it", "alone", alone_, "beside a neighbour that only computes", togetherIn(outcome.cells.front()));
    }

    void cause() {
        begin("Cause it", fmt::format("the same program beside one that reads and writes memory at full rate ({}), on "
                                      "other SMs; they share L2 and DRAM:",
                                      cast_.neighbour));
        stress::Options options = pairing({cast_.neighbour}, {WallsAround::nothing});
        options.explained = 1;
        const stress::Outcome outcome = measure(options);
        showMatrix(outcome, options);
        for (Result& r : outcome.encounters(options)) keep(std::move(r));
        beside_ = togetherIn(outcome.cells.front());
        tell("Cause it", "alone", alone_, "beside the neighbour", beside_);
    }

    void wallOff() {
        begin("Wall it off",
              "the same two, in halves of the GPU: each with SMs of its own (compute-walls), then with "
              "L2 slices and DRAM of its own as well (walls):");
        if (cast_.can.costly) showPlan();
        const stress::Options options =
            pairing({cast_.neighbour}, {WallsAround::compute, WallsAround::computeAndMemory});
        const stress::Outcome outcome = measure(options);
        showMatrix(outcome, options);
        const stress::Cell &compute = outcome.cells.front(), &both = outcome.cells.back();
        if (both.pairing.pairs.empty()) {
            tell("Wall it off", "beside the neighbour", beside_, "behind compute walls", togetherIn(compute));
            story_.caveats.push_back(fmt::format("No memory walls on {}: {}.", cast_.gpu, both.refusal));
            return;
        }
        const double own = meanOf(both.pairing.alone()), walled = togetherIn(both);
        tell("Wall it off", "beside the neighbour", beside_, "behind compute and memory walls", walled);
        story_.caveats.push_back(fmt::format(
            "Behind walls {} has half of {}: alone there it takes {}, and the neighbour costs it {:.1f} %. With SMs of "
            "its own alone it takes {} beside the neighbour.",
            cast_.program, cast_.gpu, duration(own), 100 * (walled / own - 1), duration(togetherIn(compute))));
    }

    void designAway() {
        const std::optional<arch::DeviceProfile> profile = gpu::knownProfile(cast_.gpu, {});
        const bool cached = profile && profile->l1.cachesGlobal;
        begin("Design it away", cached ? "another warp scheduler:"
                                       : "an L1D that keeps what the program reads, then another warp scheduler:");
        if (!cached) cacheGlobalLoads();
        changeScheduler(cached);
    }

    void finish() {
        command_ = "bulkhead demo" + (options_.gpu.empty() ? "" : " --gpu " + options_.gpu);
        if (!summary_.rows.empty()) {
            fill(summary_);
            summary_.question = "Are the numbers those of the paper?";
            summary_.answer = agreement();
            writeOutput("-", "\n" + tableText(summary_) + answerText(summary_));
            results_.push_back(summary_);
        }
        fill(story_);
        endStory();
        writeOutput("-", "\n" + tableText(story_) + answerText(story_));
        results_.insert(results_.begin(), story_);
        writeOutput(
            options_.out,
            report::html(fmt::format("{}: see it, cause it, wall it off, design it away", cast_.program), results_));
        fmt::print("\nReport with charts and the command of each result: {}\n",
                   std::filesystem::absolute(options_.out).string());
    }

  private:
    void begin(const std::string& name, const std::string& what) {
        fmt::print("\n{} {}\n", bold(fmt::format("{}. {}:", ++steps_, name), STDOUT_FILENO), what);
    }
    void announce(const std::string& command) {
        command_ = command;
        fmt::print("$ {}\n", command);
        std::fflush(stdout);
    }

    void fill(Result& r) const { r.provenance = {command_, cast_.gpu, 1, version(), currentDate()}; }
    void keep(Result r) {
        fill(r);
        results_.push_back(std::move(r));
    }
    void show(Result r) {
        showResults(r);
        keep(std::move(r));
    }

    void dissectGpu() {
        announce("bulkhead dissect --gpu " + cast_.gpu);
        gpu::Gpu opened = gpu::Gpu::open(cast_.gpu);
        dissect::Listener silent;
        const dissect::Dissection found = dissect::dissect(opened, dissect::Options(), silent);
        Result r;
        r.title = "Measurements of " + cast_.gpu;
        r.columns = {{"property", ""}, {"value", ""}, {"unit", ""}, {"confidence", ""}};
        for (const dissect::Finding& f : found.findings)
            if (!std::holds_alternative<std::monostate>(f.value)) r.add({f.name, f.value, f.unit, f.confidence});
        r.question = fmt::format("How does {} map addresses to its caches and memory?", cast_.gpu);
        r.answer = fmt::format("{} of {} properties were told by timing.", r.rows.size(), found.findings.size());
        show(std::move(r));
        if (const auto profile = gpu::knownProfile(cast_.gpu, {}))
            for (Result& picture : mapPictures(*profile)) keep(std::move(picture));
        for (const Result& figure : found.figures) keep(figure);
        if (cast_.gpu != kUsualGpu) return;
        // Fractional GPUs, Figure 6 and appendix B.
        compareFinding(found.findings, "DRAM banks", 128);
        compareFinding(found.findings, "L2 sets", 1024);
        compareFinding(found.findings, "L2 ways", 16);
        compareFinding(found.findings, "memory modules", 8);
    }

    /// Where its data are when nobody disturbs it.
    void watchAlone() {
        announce(fmt::format("bulkhead run {} --gpu {} --size test", cast_.program, cast_.gpu));
        compare::Plan plan = comparison();
        plan.variants = {{"gto", "gto"}};
        const compare::Comparison run = compared(plan);
        const compare::RunMeasurement& m = run.at(0, 0).measurement;
        const double l2 = static_cast<double>(m.counters.l2SectorHits) / static_cast<double>(m.counters.l2Sectors);
        Result r = compare::runTable(run);
        r.title = fmt::format("{} alone", cast_.program);
        r.question = fmt::format("Where does {} find its data?", cast_.program);
        r.answer =
            fmt::format("{} of what it loads is in the L1D of its SM, and {} of what it asks the L2 for is there.",
                        percent(m.hitRate()), percent(l2));
        r.reading = "The L1D is an SM's own. All SMs share the L2: what is found there can be pushed out by others.";
        show(std::move(r));
    }

    void showPlan() {
        announce(fmt::format("bulkhead isolate plan --gpu {} --partitions 2", cast_.gpu));
        gpu::Gpu opened = gpu::Gpu::open(cast_.gpu);
        const std::vector<isolate::Partition> halves = isolate::partitionsFrom("2");
        try {
            const isolate::Plan plan = isolate::planFor(opened, halves, "");
            writeOutput("-", isolate::draw(plan));
            keep(isolate::pictureOf(plan));
        } catch (const Error& e) {
            fmt::print("{}\n", e.what());
        }
    }

    void cacheGlobalLoads() {
        stress::Options options = pairing({cast_.neighbour}, {WallsAround::nothing, WallsAround::compute});
        options.pair.settings = {kCache};
        const stress::Outcome outcome = measure(options);
        showMatrix(outcome, options);
        const stress::Cell &open = outcome.cells.front(), &walled = outcome.cells.back();
        tell("Design it away", "beside the neighbour", beside_, "beside it, with an L1D that caches global loads",
             togetherIn(open));
        if (!walled.pairing.pairs.empty())
            story_.caveats.push_back(fmt::format(
                "With that L1D {} takes {} alone; beside the neighbour, SMs of its own alone then leave it with {}.",
                cast_.program, duration(meanOf(open.pairing.alone())), duration(togetherIn(walled))));
    }

    void changeScheduler(bool cached) {
        compare::Plan plan = comparison();
        if (!cached) plan.common.settings = {kCache};
        plan.variants = {{"gto", "gto"}, {"ciao-c", "ciao-c"}};
        announce(fmt::format("bulkhead compare --gpu {}{} --workloads {} --schedulers gto,ciao-c --size test",
                             cast_.gpu, cached ? "" : std::string(" --set ") + kCache, cast_.program));
        const compare::Comparison both = compared(plan);
        const double gto = both.at(0, 0).measurement.ipc(), ciao = both.at(0, 1).measurement.ipc();
        if (cached) tell("Design it away", "alone, under GTO", alone_, "under CIAO-C", alone_ * gto / ciao);
        constexpr double kMatters = 0.01;
        story_.caveats.push_back(
            std::abs(ciao / gto - 1) < kMatters
                ? fmt::format(
                      "Another warp scheduler does nothing for {}: under CIAO-C it runs as many instructions per "
                      "cycle as under GTO. CIAO helps programs whose own warps push each other out of L1D.",
                      cast_.program)
                : fmt::format("CIAO-C has {} times the instructions per cycle of GTO.", brief(ciao / gto)));
        show(compare::gainTable(both));
        keep(compare::stallTable(both));
        keep(compare::runTable(both));
    }

    compare::Plan comparison() const {
        compare::Plan plan;
        plan.common.gpu = cast_.gpu;
        plan.common.size = workloads::Size::test;
        plan.workloads = {cast_.program};
        return plan;
    }

    compare::Comparison compared(const compare::Plan& plan) const {
        compare::RunBatch batch = openBatch(options_.batch);
        compare::Comparison comparison = compare::compare(batch, plan);
        for (const std::string& failure : comparison.failures()) throw Error("demo: {}", failure);
        return comparison;
    }

    /// The program beside others, in the first way of sharing with each of these walls.
    stress::Options pairing(const std::vector<std::string>& neighbours, const std::vector<WallsAround>& walls) const {
        stress::Options options;
        options.pair.gpu = cast_.gpu;
        options.pair.victim.limitSeconds = cast_.can.costly ? 0.25 : 60;
        options.victims = {cast_.program};
        options.sharing.clear();
        for (const WallsAround around : walls) {
            const auto& ways = corun::sharingWays();
            const auto way = std::find_if(ways.begin(), ways.end(), [&](const auto& w) { return w.walls == around; });
            options.sharing.emplace_back(way->name);
        }
        options.explained = 0;
        options.samples = cast_.can.deterministic ? 2 : 20;
        for (const std::string& name : neighbours) {
            corun::AggressorSpec spec;
            spec.kind = corun::findAggressor(name).name;
            options.aggressors.push_back(spec);
        }
        return options;
    }

    stress::Outcome measure(const stress::Options& o) {
        announce(fmt::format("bulkhead stress --gpu {}{} --victim {}{} --aggressors {} --sharing {} --samples {}{}",
                             o.pair.gpu, o.pair.settings.empty() ? "" : " --set " + o.pair.settings.front(),
                             cast_.program, cast_.can.costly ? " --size test" : "", o.aggressors.front().kind,
                             fmt::join(o.sharing, ","), o.samples,
                             cast_.can.costly && o.explained == 0 ? " --causes 0" : ""));
        stress::Outcome outcome;
        if (cast_.can.deterministic) {
            stress::SampleBatch batch({storeFolder(options_.batch), thisProgram(), warnOnce},
                                      executorOf(options_.batch));
            stress::stress(o, outcome, batch);
        } else {
            stress::stress(o, outcome);
        }
        if (outcome.cells.front().pairing.pairs.empty())
            throw Error("demo: cannot measure {}: {}", cast_.program, outcome.cells.front().refusal);
        return outcome;
    }

    static double togetherIn(const stress::Cell& cell) { return meanOf(cell.pairing.together()); }

    void showMatrix(const stress::Outcome& outcome, const stress::Options& options) {
        for (Result& r : outcome.results(options)) {
            const bool first = r.title.starts_with("Interference");
            if (first) showResults(stress::briefMatrix(r));
            if (first || r.title.starts_with("Causes")) keep(std::move(r));
        }
    }

    /// What the program took before and after, in words and over its time alone.
    void tell(const std::string& act, const std::string& when, double before, const std::string& then, double after) {
        story_.add({act, fmt::format("{} {}", duration(before), when), fmt::format("{} {}", duration(after), then),
                    before / alone_, after / alone_});
        times_.push_back(after);
    }

    void endStory() {
        story_.question = fmt::format("What does a neighbour cost {} on {}, and what helps?", cast_.program, cast_.gpu);
        constexpr std::size_t kCause = 1, kWalls = 2, kDesign = 3;
        story_.answer = fmt::format("{} takes {} alone and {} beside its neighbour, {} times as long; {} behind walls",
                                    cast_.program, duration(alone_), duration(times_.at(kCause)),
                                    brief(times_.at(kCause) / alone_), duration(times_.at(kWalls)));
        story_.answer +=
            times_.size() > kDesign ? fmt::format(", and {} with another design.", duration(times_[kDesign])) : ".";
        story_.reading =
            fmt::format("Time over that of {} alone on the whole GPU, before and after each act.", cast_.program);
        story_.charts = {{Chart::Kind::bar,
                          fmt::format("Time of {} before and after each act", cast_.program),
                          "act",
                          {"time before", "time after"},
                          {},
                          {},
                          "time over that alone",
                          false,
                          false}};
    }

    std::string agreement() const {
        constexpr std::size_t kMeasured = 1, kPublished = 2;
        std::size_t agree = 0;
        for (const auto& row : summary_.rows)
            agree += report::number(row[kMeasured]) == report::number(row[kPublished]) ? 1 : 0;
        return fmt::format("{} of {} are the same.", agree, counted(summary_.rows.size(), "number"));
    }

    void compareFinding(const std::vector<dissect::Finding>& findings, const std::string& name, int papers) {
        for (const dissect::Finding& f : findings)
            if (f.name == name) summary_.add({name, f.value, papers, "Fractional GPUs, Figure 6"});
    }

    static constexpr const char* kCache = "l1.cachesGlobal=true";

    const DemoOptions& options_;
    const Cast cast_;
    std::string command_;
    int steps_ = 0;
    double alone_ = 0, beside_ = 0;  ///< seconds of the program
    std::vector<double> times_;      ///< after each act
    Result summary_, story_;
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
    line.option("--gpu", o->gpu, "GPU for all acts: sim:NAME, sim:FILE.json or cuda:N [sim:gtx1080]").typeName("GPU");
    line.option("--out", o->out, "write the HTML report to FILE").typeName("FILE").showDefault();
    addBatchOptions(line, o->batch);
    return [o] { return runDemo(*o); };
}

}  // namespace bulkhead::cli
