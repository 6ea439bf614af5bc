#include <gtest/gtest.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"
#include "experiment/slurm/commands.h"
#include "experiment/slurm/task.h"
#include "temporary_directory.h"

namespace bulkhead::experiment::slurm {
namespace {

/// Runs that write a file; told apart by their specifications, numbers, of which some end badly.
RunKind numbers() {
    return {"number", [](const std::filesystem::path& store, const nlohmann::json& spec) -> PreparedRun {
                const std::filesystem::path file = store / (spec.dump() + ".json");
                return {file, [=] { return std::filesystem::exists(file); },
                        [=] {
                            if (spec == 13) throw Error("no luck");
                            if (spec == 15) std::raise(SIGTERM);
                            if (spec == 6) std::raise(SIGABRT);
                            writeFile(file, "");
                        }};
            }};
}

Submission of(const std::filesystem::path& store, const std::vector<int>& specs, unsigned tasks) {
    std::vector<Submission::Run> runs;
    runs.reserve(specs.size());
    for (const int spec : specs)
        runs.push_back({{"number", std::to_string(spec) + ".json", spec}, static_cast<unsigned>(runs.size()) % tasks});
    return Submission::make(store, "1", runs, "'a program'");
}

TEST(SlurmTask, doesItsOwnRunsAndKeepsThem) {
    const TemporaryDirectory store;
    const Submission submission = of(store.path(), {1, 2, 3}, 2);
    EXPECT_EQ(doTask(submission, 0, "program", {numbers()}), 0);
    EXPECT_TRUE(std::filesystem::exists(store / "1.json") && std::filesystem::exists(store / "3.json"));
    EXPECT_FALSE(std::filesystem::exists(store / "2.json"));
    EXPECT_EQ(submission.begun(0), 1u);
    EXPECT_EQ(submission.begun(1), 0u);
    EXPECT_TRUE(submission.anyBegun(0));
    EXPECT_FALSE(submission.anyBegun(1));
}

TEST(SlurmTask, aResultThatIsThereIsNotMadeAgain) {
    const TemporaryDirectory store;
    writeFile(store / "13.json", "");  // which would fail
    const Submission submission = of(store.path(), {13}, 1);
    EXPECT_EQ(doTask(submission, 0, "program", {numbers()}), 0);
    EXPECT_EQ(submission.begun(0), 0u);
    EXPECT_FALSE(submission.failure(0));
}

TEST(SlurmTask, aRunThatFailsSaysWhyAndTheNextIsDone) {
    const TemporaryDirectory store;
    const Submission submission = of(store.path(), {13, 6, 1}, 1);
    EXPECT_EQ(doTask(submission, 0, "program", {numbers()}), 0);
    EXPECT_EQ(submission.failure(0), "no luck");
    EXPECT_EQ(submission.failure(1), "its process was ended by signal 6");
    EXPECT_TRUE(std::filesystem::exists(store / "1.json"));
}

TEST(SlurmTask, aRunThatIsTakenAwayHasNotFailed) {
    const TemporaryDirectory store;
    const Submission submission = of(store.path(), {15, 1}, 1);
    EXPECT_NE(doTask(submission, 0, "program", {numbers()}), 0);
    EXPECT_EQ(submission.begun(0), 1u);
    EXPECT_FALSE(submission.failure(0));
    EXPECT_FALSE(std::filesystem::exists(store / "1.json"));
}

TEST(SlurmTask, thatIsStartedAgainAndAgainGivesUp) {
    const TemporaryDirectory store;
    const Submission submission = of(store.path(), {15}, 1);
    for (unsigned i = 0; i < kMostTries; ++i) {
        EXPECT_FALSE(submission.failure(0));
        doTask(submission, 0, "program", {numbers()});
    }
    doTask(submission, 0, "program", {numbers()});
    EXPECT_EQ(submission.begun(0), kMostTries);
    EXPECT_TRUE(submission.failure(0));
}

TEST(SlurmTask, whatIsAnotherRunHereIsRefused) {
    const TemporaryDirectory store;
    const Submission submission =
        Submission::make(store.path(), "1", {{{"number", "2.json", 1}, 0}, {{"letter", "a.json", 1}, 0}}, "program");
    doTask(submission, 0, "program", {numbers()});
    EXPECT_NE(submission.failure(0).value_or("").find("differs"), std::string::npos);
    EXPECT_NE(submission.failure(1).value_or("").find("letter"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(store / "1.json"));
}

TEST(SlurmTask, withoutRunsSaysWhichProgramItIs) {
    const TemporaryDirectory store;
    const Submission submission = of(store.path(), {}, 1);
    EXPECT_FALSE(submission.greeting());
    doTask(submission, 0, "this build", {});
    EXPECT_EQ(submission.greeting(), "this build");
}

TEST(SlurmSubmission, isReadAsItWasWritten) {
    const TemporaryDirectory store;
    const Submission made = of(store.path(), {1, 2, 3}, 2), read(made.folder());
    EXPECT_EQ(read.store(), store.path());
    EXPECT_EQ(read.jobName(), made.jobName());
    ASSERT_EQ(read.runs().size(), 3u);
    EXPECT_EQ(read.runs()[1].description.file, "2.json");
    EXPECT_EQ(read.runs()[1].description.spec, 2);
    EXPECT_EQ(read.runs()[1].task, 1u);
    EXPECT_EQ(read.runs()[2].task, 0u);
    writeFile(made.folder() / "runs.json", "{");
    EXPECT_THROW(Submission{made.folder()}, Error);
}

TEST(SlurmOptions, thatWeSetAreRefused) {
    EXPECT_NO_THROW(expectOptions({"--partition=long", "-t", "1:00", "--exclusive", "--gres=gpu:1", "-A", "me"}));
    for (const char* ours : {"--array=1-3", "-a1-3", "--job-name=x", "-J", "--output=x", "--wait", "-W", "--wrap=x"})
        EXPECT_THROW(expectOptions({ours}), Error) << ours;
    EXPECT_THROW(expectOptions({"script.sh"}), Error);
    EXPECT_THROW(expectOptions({"--time=1", "script.sh"}), Error);
}

TEST(SlurmOptions, tellWhetherAGpuIsAskedFor) {
    for (const char* asks : {"--gres=gpu:1", "--gres=gpu", "--gpus=1", "-G1", "--gpus-per-node=1", "--exclusive",
                             "--gres=gpu:h200:1", "--tres-per-task=gres/gpu:1"})
        EXPECT_TRUE(askForGpu({"--time=1", asks})) << asks;
    for (const char* other : {"--partition=gpu-short", "--time=1", "--gres=tmp:1"})
        EXPECT_FALSE(askForGpu({other})) << other;
}

}  // namespace
}  // namespace bulkhead::experiment::slurm
