// A CUDA program as a victim on a simulated GPU, with the aggressor beside it in its own process.

#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

using nlohmann::json;

/// Reads 64 KB, an eighth of the cache, line after line and again and again, each access after the one before it and
/// past L1, and checks the sum.
constexpr const char* kSource = R"(
#include <cstdio>
#include <cstdlib>
#include <vector>
constexpr unsigned kWords = 16384, kLine = 32;
__global__ void walk(const unsigned* data, unsigned rounds, unsigned* sum) {
    unsigned total = 0, skip = 0;
    for (unsigned round = 0; round < rounds; ++round)
        for (unsigned i = 0; i < kWords; i += kLine) {
            const unsigned value = __ldcg(data + i + skip);
            skip = value >> 31;
            total += value;
        }
    *sum = total;
}
int main(int, char** arguments) {
    const unsigned rounds = std::atoi(arguments[1]);
    std::vector<unsigned> words(kWords);
    unsigned expected = 0, found = 0, *data, *sum;
    for (unsigned i = 0; i < kWords; ++i) words[i] = i * 7;
    for (unsigned i = 0; i < kWords; i += kLine) expected += words[i] * rounds;
    cudaMalloc(&data, kWords * 4);
    cudaMalloc(&sum, 4);
    cudaMemcpy(data, words.data(), kWords * 4, cudaMemcpyHostToDevice);
    walk<<<1, 1>>>(data, rounds, sum);
    cudaMemcpy(&found, sum, 4, cudaMemcpyDeviceToHost);
    return found == expected ? 0 : 3;
}
)";

class ProgramVictim : public testing::Test {
  protected:
    /// Compiled once for all tests.
    static void SetUpTestSuite() {
        folder = std::make_unique<TemporaryDirectory>();
        writeFile((*folder / "walk.cu").string(), kSource);
        const Outcome built = run({BULKHEAD_PROGRAM, "cc", "-O2", (*folder / "walk.cu").string(), "-o", program()});
        ASSERT_EQ(built.exitCode, 0) << built.output;
    }
    static void TearDownTestSuite() { folder.reset(); }
    static std::string program() { return (*folder / "walk").string(); }
    /// Its path has spaces in it.
    static std::string victim(const std::string& arguments) { return '"' + program() + "\" " + arguments; }

    static Outcome stress(const std::string& victim, const std::string& aggressors, const std::string& sharing) {
        return run({BULKHEAD_PROGRAM, "stress", "--gpu", "sim:tx2", "--victim", victim, "--aggressors", aggressors,
                    "--sharing", sharing, "--samples", "1", "--json", (*folder / "out.json").string()});
    }
    static json results() { return json::parse(readFile((*folder / "out.json").string())).at("results"); }
    static json matrix() { return results().at(0).at("rows"); }
    static inline std::unique_ptr<TemporaryDirectory> folder;
};

TEST_F(ProgramVictim, LosesItsLinesToEvictionBesideItAndNothingToComputation) {
    const Outcome outcome = stress(victim("12"), "compute,map-guided", "mps");
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const json rows = matrix();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_NEAR(rows[0].at("slowdown").get<double>(), 1, 0.02);
    // Of twelve rounds the first misses when alone: (12 x 519) / (519 + 11 x 116) at most.
    EXPECT_GT(rows[1].at("slowdown").get<double>(), 2);
    EXPECT_LT(rows[1].at("slowdown").get<double>(), 4.5);
    EXPECT_GT(rows[1].at("aggressor traffic").get<double>(), 0.1);
    EXPECT_EQ(rows[1].at("SMs"), "disjoint");
    const json causes = results().at(1);
    ASSERT_EQ(causes.at("title"), "Causes of the slowdown");
    EXPECT_EQ(causes.at("rows").back().at("aggressor"), "map-guided");
    EXPECT_GT(causes.at("rows").back().at("L2 lines").get<double>(), 50);
}

TEST_F(ProgramVictim, HasHalfOfTheTimeBesideAnotherProcess) {
    const Outcome outcome = stress(victim("60"), "compute", "processes");
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_NEAR(matrix().at(0).at("slowdown").get<double>(), 2.12, 0.3);
    EXPECT_GT(results().at(1).at("rows").at(0).at("time slicing").get<double>(), 95);
}

TEST_F(ProgramVictim, TakesAsLongAloneWhoeverWillBeBesideIt) {
    // One makes its memory ready by kernels of its own, the other has none: neither is the program's affair.
    const Outcome outcome = stress(victim("2"), "compute,evict-random", "processes");
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const double beside = matrix().at(0).at("solo mean"), besideOther = matrix().at(1).at("solo mean");
    EXPECT_NEAR(beside / besideOther, 1, 0.05);
    // 1024 accesses of at most 600 cycles at 1.3 GHz.
    EXPECT_LT(beside, 0.6);
}

/// A driver that this process takes for NVIDIA's: ours under another name.
class ProgramOnARealGpu : public ProgramVictim {
  protected:
    static std::vector<std::string> withDriver(std::vector<std::string> command) {
        const std::string copy = (*folder / "libcuda-behind.so").string();
        std::filesystem::copy_file(std::filesystem::path(BULKHEAD_PROGRAM).parent_path() / "lib" / "libcuda.so.1", copy,
                                   std::filesystem::copy_options::overwrite_existing);
        command.insert(command.begin(), {"env", "BULKHEAD_LIBCUDA=" + copy, "BULKHEAD_GPU=sim:gtx1080"});
        return command;
    }
};

TEST_F(ProgramOnARealGpu, IsTimedByItsKernelsAndCopies) {
    const std::string stats = (*folder / "stats.json").string(), timed = (*folder / "timed.json").string();
    const Outcome simulated =
        run({BULKHEAD_PROGRAM, "exec", "--quiet", "--gpu", "sim:gtx1080", "--stats", stats, "--", program(), "12"});
    ASSERT_EQ(simulated.exitCode, 0) << simulated.output;
    const Outcome outcome =
        run(withDriver({BULKHEAD_PROGRAM, "exec", "--gpu", "cuda:0", "--timed", timed, "--", program(), "12"}));
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const json account = json::parse(readFile(timed));
    EXPECT_EQ(account.at("operations"), 3);  // two copies and a kernel
    const json kernels = json::parse(readFile(stats)).at("devices").at(0).at("kernels");
    const double kernel = kernels.at(0).at("microseconds").get<double>() * 1e-6;
    // 64 KB over a link of 10 GB/s or so, and what a launch takes.
    EXPECT_GT(account.at("seconds").get<double>(), kernel);
    EXPECT_LT(account.at("seconds").get<double>(), kernel + 50e-6);
}

TEST_F(ProgramOnARealGpu, DoesNotCountItsStart) {
    const auto solo = [](bool wallClock) {
        std::vector<std::string> command = {
            BULKHEAD_PROGRAM, "stress",     "--gpu",        "cuda:0",
            "--victim",       victim("12"), "--sharing",    "processes",
            "--samples",      "1",          "--aggressors", "compute",
            "--blocks",       "1",          "--json",       (*folder / "out.json").string()};
        if (wallClock) command.emplace_back("--wall-clock");
        const Outcome outcome = run(withDriver(command));
        EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
        return matrix().at(0).at("solo mean").get<double>();
    };
    // 6144 accesses of 100 to 600 cycles at 1.6 GHz, against a process that has to be loaded.
    EXPECT_LT(solo(false), 3);
    EXPECT_GT(solo(true), 5);
}

TEST_F(ProgramVictim, KeepsItsSamplesWhateverItIsCalled) {
    const std::string bad = (*folder / "bad\xff").string();
    std::filesystem::copy_file(program(), bad);
    const Outcome outcome = stress('"' + bad + "\" 2", "compute", "mps");
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    ASSERT_EQ(matrix().size(), 1u);
    EXPECT_EQ(matrix()[0].at("samples"), 1);
}

TEST_F(ProgramVictim, ThatFailsIsNoSample) {
    const Outcome outcome = stress("/bin/false", "compute", "mps");
    EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
    EXPECT_EQ(matrix().at(0).at("samples").get<int>(), 0);
    EXPECT_EQ(matrix().at(0).at("lost").get<int>(), 1);
}

TEST_F(ProgramVictim, ThatUsesNoGpuIsNoSample) {
    const Outcome outcome = stress("/bin/true", "compute", "mps");
    EXPECT_EQ(outcome.exitCode, 1) << outcome.output;
    EXPECT_NE(matrix().at(0).at("note").get<std::string>().find("without a kernel"), std::string::npos);
}

TEST_F(ProgramVictim, IsEndedWhenTheUserHasHadEnough) {
    const std::string script = (*folder / "forever").string(), noted = (*folder / "pid").string();
    writeFile(script, "#!/bin/sh\necho $$ > '" + noted + "'\nexec sleep 1000\n");
    std::filesystem::permissions(script, std::filesystem::perms::owner_all);
    const Outcome outcome =
        run({"timeout", "--preserve-status", "-s", "INT", "1", BULKHEAD_PROGRAM, "stress", "--gpu", "sim:tx2",
             "--victim", '"' + script + '"', "--aggressors", "compute", "--sharing", "mps"});
    EXPECT_EQ(outcome.exitCode, 130) << outcome.output;
    EXPECT_NE(kill(std::stoi(readFile(noted)), 0), 0);
}

TEST_F(ProgramVictim, IsAProcessAndHasNoStreamToShare) {
    const Outcome outcome = stress(victim("12"), "compute", "streams");
    EXPECT_EQ(outcome.exitCode, 2);
    EXPECT_NE(outcome.output.find("--sharing processes or mps"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace bulkhead
