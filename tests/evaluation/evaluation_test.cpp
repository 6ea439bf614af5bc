#include "evaluation/evaluation.h"

#include <gtest/gtest.h>

#include <array>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/json.h"
#include "driver/simulated_driver.h"
#include "evaluation/samples.h"
#include "experiment/local_executor.h"
#include "temporary_directory.h"

namespace bulkhead::evaluation {
namespace {

SeriesSpec series(Method method, unsigned partitions, const std::string& application,
                  std::vector<std::string> neighbours) {
    SeriesSpec spec;
    spec.gpu = "sim:gtx1080";
    spec.method = method;
    spec.partitions = partitions;
    spec.application = application;
    spec.neighbours = std::move(neighbours);
    spec.size = workloads::Size::test;
    return spec;
}

SeriesMeasurement measurement(std::vector<std::vector<double>> seconds) {
    SeriesMeasurement f;
    f.neighbourRuns.assign(seconds.size(), 1);
    f.seconds = std::move(seconds);
    return f;
}

int devices() {
    int count = 0;
    EXPECT_EQ(driver::simulatedDriver().cuDeviceGetCount(&count), driver::CUDA_SUCCESS);
    return count;
}

TEST(Method, IsARowOfTheTableOfWaysByEitherName) {
    for (const corun::SharingWay& way : corun::sharingWays()) {
        EXPECT_EQ(&Method(way.name).way(), &way);
        EXPECT_EQ(Method(Method(way.name).name()), Method(way.name)) << way.name;
    }
    EXPECT_EQ(Method().way().name, "streams");
    EXPECT_EQ(Method("cp").way().name, "compute-walls");
    EXPECT_EQ(Method("walls").name(), "cmp");
    EXPECT_LT(Method("mps"), Method("cp"));
    for (const char* unknown : {"", "cpm"}) EXPECT_THROW(Method{unknown}, Error) << unknown;
}

TEST(Series, LeavesNoGpuBehindWhoseNeighboursWereAtWork) {
    const gpu::Gpu another = gpu::Gpu::open("sim:gtx480");  // where there is no device at all, none are counted
    const int before = devices();
    for (const Method method : {Method("none"), Method("green"), Method("cmp")}) {
        execute(series(method, 2, "VA", {"VA"}));
        EXPECT_EQ(devices(), before) << method.name();
    }
}

TEST(Evaluation, VariationIsTheSlowestNeighbourAgainstNone) {
    Evaluation e;
    e.add(series(Method("cp"), 2, "MM", {"", "VA", "FWT"}), measurement({{1.0, 3.0}, {5.0}, {4.0}}));
    // Means: 2 alone, 5 and 4 beside others.
    EXPECT_DOUBLE_EQ(e.variation(Method("cp"), 2, "MM").value(), 150);
    EXPECT_FALSE(e.variation(Method("cp"), 4, "MM"));
    EXPECT_FALSE(e.variation(Method("cmp"), 2, "MM"));
}

TEST(Evaluation, VariationOfEachSampleIsAgainstItsOwnIdleRun) {
    Evaluation e;
    // Two variants: each sample has a series of its own.
    for (const auto& [idle, va, fwt] : {std::array{1.0, 2.0, 1.5}, std::array{2.0, 3.0, 5.0}}) {
        e.add(series(Method("cp"), 2, "MM", {""}), measurement({{idle}}));
        e.add(series(Method("cp"), 2, "MM", {"VA"}), measurement({{va}}));
        e.add(series(Method("cp"), 2, "MM", {"FWT"}), measurement({{fwt}}));
    }
    EXPECT_EQ(e.variations(Method("cp"), 2, "MM"), (std::vector<double>{100, 150}));
    EXPECT_EQ(e.averageVariations(Method("cp"), 2, {"MM", "MM"}), (std::vector<double>{100, 150}));
    EXPECT_TRUE(e.averageVariations(Method("cp"), 2, {"MM", "SN"}).empty());
    EvaluationSpec spec;
    spec.methods = {Method("cp")};
    spec.applications = {"MM"};
    const Result r = e.spreadTable(spec);
    ASSERT_EQ(r.rows.size(), 2u);  // MM, and the average
    EXPECT_DOUBLE_EQ(std::get<double>(r.rows[0][3]), 125);
    EXPECT_NEAR(std::get<double>(r.rows[0][4]), 35.36, 0.01);  // of 100 and 150: 50 / sqrt(2)
}

TEST(Series, VariantsDifferAndEachIsTheSameAgain) {
    SeriesSpec spec = series(Method("cp"), 2, "CFD", {"VA"});
    const double first = execute(spec).seconds.at(0).at(0);
    spec.variant = 1;
    const double second = execute(spec).seconds.at(0).at(0);
    EXPECT_NE(first, second);
    EXPECT_EQ(second, execute(spec).seconds.at(0).at(0));
}

TEST(Evaluation, RuntimesAreNormalizedToTheBaselineTimesThePartitions) {
    Evaluation e;
    e.add(series(Method("none"), 1, "VA", {""}), measurement({{2.0}}));
    e.add(series(Method("cp"), 4, "VA", {""}), measurement({{4.0}}));
    EXPECT_DOUBLE_EQ(e.normalized({Method("cp"), 4, "VA", ""}).value(), 0.5);
}

TEST(Evaluation, TablesEndWithAverageAndMaximum) {
    Evaluation e;
    e.add(series(Method("cp"), 2, "MM", {"", "VA"}), measurement({{1.0}, {1.5}}));
    e.add(series(Method("cp"), 2, "SN", {"", "VA"}), measurement({{1.0}, {2.0}}));
    EvaluationSpec spec;
    spec.methods = {Method("cp")};
    spec.applications = {"MM", "SN"};
    const Result r = e.variationTable(spec);
    ASSERT_EQ(r.rows.size(), 4u);
    EXPECT_DOUBLE_EQ(std::get<double>(r.rows[2][1]), 75);
    EXPECT_DOUBLE_EQ(std::get<double>(r.rows[3][1]), 100);
}

double secondsOf(Method method, const std::string& neighbour) {
    return execute(series(method, 2, "latency", {neighbour})).seconds.at(0).at(0);
}

TEST(Evaluation, MemoryWallsKeepAStreamFromALatencyVictim) {
    const double cp = secondsOf(Method("cp"), "stream") / secondsOf(Method("cp"), "");
    const double cmp = secondsOf(Method("cmp"), "stream") / secondsOf(Method("cmp"), "");
    EXPECT_GT(cp, 1.1);
    EXPECT_LT(cmp, 1.05);
}

TEST(Evaluation, WallsAreAsWideAsTheirPartition) {
    const SeriesMeasurement two = execute(series(Method("cmp"), 2, "VA", {""}));
    EXPECT_EQ(two.place.sms, 10u);    // of 20
    EXPECT_EQ(two.place.colors, 1u);  // of 2
    EXPECT_EQ(two.place.strayBlocks, 0u);
    EXPECT_THROW(execute(series(Method("cmp"), 3, "VA", {""})), Error);
}

/// An application that notes what is done with it, and goes wrong in one of its runs.
class Fallible final : public corun::Actor {
  public:
    explicit Fallible(int wrongRun) : wrongRun_(wrongRun) {}
    std::optional<corun::ActorRun> run(const corun::Rounds&) override {
        checked_ = false;
        ++timed;
        corun::ActorRun run;
        run.seconds = 1;
        return run;
    }
    void check() override {
        EXPECT_FALSE(checked_) << "nothing ran since the last check";
        checked_ = true;
        ++checks;
        if (timed == wrongRun_) throw Error("run {} is wrong", timed);
    }
    void start(double) override {}
    corun::Place place() const { return {10, 1, "blocks", static_cast<unsigned>(timed)}; }
    int timed = 0, checks = 0;

  private:
    bool checked_ = false;
    int wrongRun_;
};

SeriesMeasurement besideIdleAndBusy(Fallible& application, unsigned samples) {
    Fallible neighbour(-1);
    std::vector<Neighbourhood> neighbours(2);
    neighbours[1].actors.push_back(&neighbour);
    return takeSamples(application, neighbours, [&] { return application.place(); }, {samples, 1, false, true});
}

TEST(Evaluation, EveryTimedRunIsComparedWithTheCpus) {
    Fallible application(-1);
    const SeriesMeasurement measurement = besideIdleAndBusy(application, 3);
    EXPECT_EQ(application.timed, 6);
    EXPECT_EQ(application.checks, 6);
    EXPECT_EQ(measurement.place.strayBlocks, 6u);  // as they are after the last run
}

TEST(Evaluation, AWrongResultBesideANeighbourIsAnError) {
    for (int wrong = 1; wrong <= 4; ++wrong) {
        Fallible application(wrong);
        EXPECT_THROW(besideIdleAndBusy(application, 2), Error) << wrong;
    }
}

TEST(Evaluation, MeasuresOnceWhatAMapOrProcessesCannotChange) {
    SeriesSpec plain = series(Method("none"), 1, "VA", {""}), other = plain;
    other.processes = true;
    other.map = "a file that nobody reads";
    EXPECT_EQ(plain.toJson(), other.toJson());
    other.partitions = 2;
    EXPECT_NE(series(Method("none"), 2, "VA", {""}).toJson(), other.toJson());
}

TEST(Evaluation, GoesOnWhereItWas) {
    const TemporaryDirectory folder;
    EvaluationSpec spec;
    spec.common = series(Method("none"), 2, "", {});
    spec.methods = {Method("cp")};
    spec.applications = {"VA"};
    spec.neighbours = {"MM"};
    std::size_t made = 0;
    const auto here =
        std::make_shared<experiment::LocalExecutor>(1, [&](const experiment::Progress& p) { made = p.of; });
    const SeriesStore store(folder.path(), "this program");
    const auto first = evaluate(spec, store, here).variation(Method("cp"), 2, "VA");
    EXPECT_EQ(made, 4u);  // the baseline, its walls, idle and MM
    made = 0;
    EXPECT_EQ(evaluate(spec, store, here).variation(Method("cp"), 2, "VA"), first);
    EXPECT_EQ(made, 0u);
    evaluate(spec, SeriesStore(folder.path(), "another program"), here);
    EXPECT_EQ(made, 4u);
}

/// Half as many blocks of 256 threads as a GTX 1080 holds (20 SMs with 2048 threads each), which each take a fixed
/// time.
double secondsWithShare(double share) {
    constexpr unsigned kBlocks = 20 * 2048 / 256 / 2;
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    gpu::Context context = gpu.createContext(true);
    context.limitThreads(share);
    gpu::Kernel kernel = context
                             .load(R"(.version 6.3
.target sm_60
.address_size 64
.visible .entry wait() {
    .reg .u32 %r<4>;
    .reg .pred %p;
    mov.u32 %r1, %clock;
again:
    mov.u32 %r2, %clock;
    sub.u32 %r3, %r2, %r1;
    setp.lt.u32 %p, %r3, 20000;
    @%p bra again;
    ret;
})")
                             .kernel("wait");
    gpu::Stream stream = context.createStream();
    gpu::Event start = context.createEvent(), end = context.createEvent();
    kernel.launch(stream, {1}, {32}, 0);  // until the GPU has changed over to this context
    start.record(stream);
    kernel.launch(stream, {kBlocks}, {256}, 0);
    end.record(stream);
    stream.synchronize();
    return end.secondsSince(start);
}

TEST(ThreadLimit, HoldsBackBlocksAsMpsDoes) {
    const double all = secondsWithShare(0.5), half = secondsWithShare(0.25), region = secondsWithShare(0.125);
    EXPECT_NEAR(half / all, 2, 0.3);
    EXPECT_NEAR(region / all, 4, 0.6);
}

TEST(SeriesSpec, AnotherProcessUnderstandsTheDescription) {
    SeriesSpec spec = series(Method("cmp"), 4, "SP", {"", "VA"});
    spec.settings = {"l2.hitLatency=100"};
    spec.placement = "driver";
    spec.seed = (std::uint64_t{1} << 63) + 1;
    spec.samples = 3;
    spec.variant = 2;
    spec.processes = true;
    const nlohmann::json heard = parseJson(jsonText(describe(spec)), "description");
    EXPECT_EQ(SeriesSpec::fromJson(heard, "run").toJson(), spec.toJson());
    spec.map = "a file";
    EXPECT_EQ(SeriesSpec::fromJson(parseJson(jsonText(describe(spec)), "description"), "run").map, "a file");
}

}  // namespace
}  // namespace bulkhead::evaluation
