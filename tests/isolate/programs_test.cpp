// Programs in partitions: through libbulkhead, through fgpu.h, and through `bulkhead isolate run`.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "isolate/divided_gpu.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

const std::filesystem::path kSource = BULKHEAD_SOURCE_DIR;

class Programs : public testing::Test {
  protected:
    TemporaryDirectory folder;

    std::string leases() const { return (folder / "leases").string(); }
    std::string build(const std::string& source) {
        const std::string program = (folder / "program").string();
        const Outcome built =
            run({BULKHEAD_PROGRAM, "cc", "-O2", (kSource / source).string(), "-lbulkhead", "-o", program});
        EXPECT_EQ(built.exitCode, 0) << built.output;
        return program;
    }
    Outcome exec(const std::vector<std::string>& command, const std::vector<std::string>& variables = {}) {
        std::vector<std::string> words = {"env", "BULKHEAD_LEASES=" + leases()};
        words.insert(words.end(), variables.begin(), variables.end());
        for (const char* word : {BULKHEAD_PROGRAM, "exec", "--quiet", "--gpu", "sim:gtx1080", "--"})
            words.emplace_back(word);
        words.insert(words.end(), command.begin(), command.end());
        return run(words);
    }
    Outcome isolate(const std::string& verb, const std::vector<std::string>& words) {
        std::vector<std::string> all = {BULKHEAD_PROGRAM, "isolate",  verb,    "--gpu",
                                        "sim:gtx1080",    "--leases", leases()};
        all.insert(all.end(), words.begin(), words.end());
        return run(all);
    }
};

TEST_F(Programs, WrittenForFgpuRunInTheirColor) {
    const std::string program = build("examples/fgpu/vector_add.cu");
    for (const char* color : {"0", "1"}) {
        const Outcome outcome = exec({program}, {std::string("FGPU_COLOR_ENV=") + color});
        EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
        // A GTX 1080 has 20.
        EXPECT_EQ(outcome.output, "vector_add: 10 SMs of color 0, passed\n");
    }
}

TEST_F(Programs, WrittenForFgpuAreRefusedAColorThatIsNotThere) {
    const Outcome outcome = exec({build("examples/fgpu/vector_add.cu")}, {"FGPU_COLOR_ENV=2"});
    EXPECT_EQ(outcome.exitCode, 1);
    EXPECT_NE(outcome.output.find("no partition 2: there are 2"), std::string::npos) << outcome.output;
}

TEST_F(Programs, WrittenForFgpuHaveAllItsCallsAndMacros) {
    const std::string program = build("tests/isolate/fgpu_calls.cu");
    // A GTX 1080 has 20.
    EXPECT_NE(exec({program}).output.find("passed with 10 and 10 SMs\n"), std::string::npos);
    ASSERT_EQ(isolate("set", {"--partitions", "A=25%/50%,B=75%/50%"}).exitCode, 0);
    EXPECT_NE(exec({program}, {"FGPU_COLOR_ENV=0"}).output.find("passed with 5 and 15 SMs\n"), std::string::npos);
}

TEST_F(Programs, OfFgpusOwnTestsHaveTheirOptionsAndTimes) {
    const std::string program = build("tests/isolate/fgpu_test_program.cu");
    const Outcome outcome = exec({program, "-i", "4", "-c", "1", "-m", "1048576", "-k"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_EQ(outcome.output,
              "Color:\t1\nMemory:\t1048576\nIterations:\t4\nafter\nafter\nafter\nafter\n"
              "STATS: Avg:1.500000, Median:1.500000, Min:0.000000, Max:3.000000, 5 percentile:0.000000, "
              "95 percentile:3.000000, Count:4\nsum 20 by kernels alone\n");
    EXPECT_EQ(exec({program, "-x"}).exitCode, 1);
}

TEST_F(Programs, WrittenForFgpuDoNotMeetOnSimulatedGpus) {
    // One that holds color 0 starts another that asks for it. Neither has a folder for leases, or leaves one behind.
    const std::string program = build("tests/isolate/fgpu_test_program.cu");
    for (const char* name : {"once", "twice"}) std::filesystem::copy_file(program, folder / name);
    const std::filesystem::path own = folder / "runtime";
    std::filesystem::create_directory(own);
    std::filesystem::permissions(own, std::filesystem::perms::owner_all);
    const Outcome outcome =
        run({"env", "-u", "BULKHEAD_LEASES", "XDG_RUNTIME_DIR=" + own.string(), BULKHEAD_PROGRAM, "exec", "--quiet",
             "--gpu", "sim:gtx1080", "--", (folder / "twice").string(), "-i", "2"});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_NE(outcome.output.find("sum 10\n"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("sum 5\n"), std::string::npos) << outcome.output;
    EXPECT_TRUE(std::filesystem::is_empty(own));
}

TEST_F(Programs, WrittenForFgpuAreRefusedMoreMemoryThanTheirColorHas) {
    const Outcome outcome =
        exec({build("examples/fgpu/vector_add.cu")}, {"FGPU_COLOR_ENV=0", "FGPU_COLOR_MEM_SIZE_ENV=0x10000000000"});
    EXPECT_EQ(outcome.exitCode, 1);
    EXPECT_NE(outcome.output.find("fgpu: the color has less memory than was asked for\n"), std::string::npos)
        << outcome.output;
}

TEST_F(Programs, OfTheFgpuPaperRun) {
    const Outcome outcome = exec({build("examples/fgpu/figure1.cu")});
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    EXPECT_EQ(outcome.output, "figure1: passed\n");
}

TEST_F(Programs, ThatKnowNothingOfItRunInsideAPartition) {
    ASSERT_EQ(isolate("set", {"--partitions", "small=25%/50%,large=75%/50%"}).exitCode, 0);
    const std::string program = build("examples/vector_add.cu");
    const Outcome inside = isolate("run", {"--partition", "small", "--", program});
    EXPECT_EQ(inside.exitCode, 0) << inside.output;
    EXPECT_NE(inside.output.find("vector_add: passed\n"), std::string::npos) << inside.output;
    const Outcome unknown = isolate("run", {"--partition", "smal", "--", program});
    EXPECT_EQ(unknown.exitCode, 2);
    EXPECT_NE(unknown.output.find("did you mean small?"), std::string::npos) << unknown.output;
}

TEST_F(Programs, CanGoWithoutAMemoryWall) {
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%"}).exitCode, 0);
    const std::string program = build("examples/managed_memory.cu");
    // Managed memory moves with compute walls alone, and stays at the host behind both.
    for (const char* walls : {"both", "compute"}) {
        const Outcome inside = isolate("run", {"--partition", "A", "--walls", walls, "--", program});
        EXPECT_EQ(inside.exitCode, 0) << inside.output;
        EXPECT_NE(inside.output.find("managed_memory: passed\n"), std::string::npos) << inside.output;
    }
    const Outcome unknown = isolate("run", {"--partition", "A", "--walls", "paper", "--", program});
    EXPECT_EQ(unknown.exitCode, 2);
    EXPECT_NE(unknown.output.find("give both or compute"), std::string::npos) << unknown.output;
}

TEST_F(Programs, WithoutAMemoryWallAreSeenByOthers) {
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%"}).exitCode, 0);
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    isolate::LeaseBook book(leases(), isolate::identityOf(gpu));
    const auto divide = [&](const std::vector<isolate::Partition>& all) { return isolate::planFor(gpu, all, ""); };
    const isolate::Lease lease = book.join("A", divide, false);
    EXPECT_NE(isolate("list", {}).output.find("no memory wall"), std::string::npos);
    const std::string program = build("examples/vector_add.cu");
    const Outcome beside = isolate("run", {"--partition", "B", "--", program});
    EXPECT_EQ(beside.exitCode, 0) << beside.output;
    EXPECT_NE(beside.output.find("in partition A has no memory wall"), std::string::npos) << beside.output;
    const Outcome strict = isolate("set", {"--partitions", "A=50%,B=50%", "--strict", "B"});
    ASSERT_EQ(strict.exitCode, 0) << strict.output;
    const Outcome refused = isolate("run", {"--partition", "B", "--", program});
    EXPECT_NE(refused.exitCode, 0);
    EXPECT_NE(refused.output.find("partition B is strict"), std::string::npos) << refused.output;
    EXPECT_EQ(isolate("set", {"--partitions", "A=50%,B=50%", "--strict", "C"}).exitCode, 2);
}

TEST_F(Programs, WithRightsOfTheirOwnAreNotStarted) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a program another group's rights";
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%"}).exitCode, 0);
    const std::string program = build("examples/vector_add.cu");
    ASSERT_EQ(chown(program.c_str(), 0, 65534), 0);
    ASSERT_EQ(chmod(program.c_str(), 02755), 0);
    // It would not be told of its partition, and run outside.
    const Outcome refused = isolate("run", {"--partition", "A", "--", program});
    EXPECT_EQ(refused.exitCode, 2);
    EXPECT_NE(refused.output.find("setuid, setgid or has capabilities"), std::string::npos) << refused.output;
}

TEST_F(Programs, AreShownNoDeviceWhereTheirPartitionIsFull) {
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%"}).exitCode, 0);
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    isolate::LeaseBook book(leases(), isolate::identityOf(gpu));
    isolate::Lease lease =
        book.join("A", [&](const std::vector<isolate::Partition>& all) { return isolate::planFor(gpu, all, ""); });
    const Outcome list = isolate("list", {});
    EXPECT_NE(list.output.find(std::to_string(getpid())), std::string::npos) << list.output;
    const std::string program = build("examples/vector_add.cu");
    const Outcome refused = isolate("run", {"--partition", "A", "--", program});
    EXPECT_NE(refused.exitCode, 0);
    EXPECT_NE(refused.output.find("partition A is full: 1 of 1 programs"), std::string::npos) << refused.output;
    EXPECT_NE(refused.output.find("no CUDA-capable device"), std::string::npos) << refused.output;
    EXPECT_EQ(isolate("run", {"--partition", "B", "--", program}).exitCode, 0);
    lease.leave();
    EXPECT_EQ(isolate("run", {"--partition", "A", "--", program}).exitCode, 0);
}

TEST_F(Programs, MaySetPartitionsThatTheGpuCanGive) {
    const std::string program = build("tests/isolate/own_partitions.cu");
    const Outcome fine = exec({program, "A=25%/50%,B=75%/50%", "B"});
    EXPECT_EQ(fine.output, "inside: 15 SMs, 1 device\nleft: 0 devices, again -1\n");  // of 20
    // A GTX 1080 has two colors.
    const Outcome many = exec({program, "A=30%,B=30%,C=30%", "A"});
    EXPECT_EQ(many.exitCode, 1);
    EXPECT_NE(many.output.find("not set: "), std::string::npos) << many.output;
    EXPECT_EQ(isolate("run", {"--partition", "B", "--", "/bin/true"}).exitCode, 0) << "the first two are still set";
}

/// CUDA cannot be used in a child once its parent has begun.
TEST_F(Programs, HaveNoDeviceInChildrenOfAFork) {
    const std::string late = "parent: 0\nchild: 3\nparent: 0\n";  // CUDA_ERROR_NOT_INITIALIZED
    EXPECT_EQ(exec({BULKHEAD_FORKS, "late"}).output, late);
    EXPECT_EQ(exec({BULKHEAD_FORKS, "early"}).output, "child: 0\nparent: 0\n");
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%"}).exitCode, 0);
    EXPECT_EQ(isolate("run", {"--partition", "A", "--", BULKHEAD_FORKS, "late"}).output, late);
    EXPECT_EQ(isolate("run", {"--partition", "A", "--", BULKHEAD_FORKS, "early"}).output, "child: 0\nparent: 0\n");
}

TEST_F(Programs, FindTheLibraryThroughItsCMakePackage) {
    const std::string build = (folder / "build").string();
    const Outcome configured =
        run({"cmake", "-S", (kSource / "tests/isolate/client").string(), "-B", build,
             "-Dbulkhead_DIR=" + std::filesystem::path(BULKHEAD_PROGRAM).parent_path().string()});
    ASSERT_EQ(configured.exitCode, 0) << configured.output;
    const Outcome built = run({"cmake", "--build", build});
    ASSERT_EQ(built.exitCode, 0) << built.output;
    ASSERT_EQ(isolate("set", {"--partitions", "A=25%/50%,B=75%/50%"}).exitCode, 0);
    const Outcome outcome = exec({build + "/client", "A"});
    EXPECT_EQ(outcome.exitCode, 0);
    EXPECT_EQ(outcome.output, "A: 5 of 20 SMs, 1 of 2 colors\n");
    const Outcome refused = exec({build + "/client", "other"});
    EXPECT_EQ(refused.output, "refused: no partition other on sim:gtx1080: there are A, B\n");
}

TEST_F(Programs, OfSeveralPartitionsShareAGpuThatIsKept) {
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%", "--sharing", "mps"}).exitCode, 0);
    const std::string program = build("examples/vector_add.cu");
    const auto inside = [&](const char* partition) {
        return fmt::format("'{}' isolate run --gpu sim:gtx1080 --leases '{}' --partition {} -- '{}'", BULKHEAD_PROGRAM,
                           leases(), partition, program);
    };
    const Outcome both = run({"sh", "-c", inside("A") + " & " + inside("B") + "; wait"});
    EXPECT_EQ(both.exitCode, 0);
    EXPECT_EQ(both.output, "vector_add: passed\nvector_add: passed\n");
    const Outcome listed = isolate("list", {});
    EXPECT_NE(listed.output.find("0 programs side by side, 8192 of 8192 MB free"), std::string::npos) << listed.output;
    EXPECT_EQ(isolate("set", {"--partitions", "A=50%,B=50%", "--sharing", "time-slices"}).exitCode, 2);
    EXPECT_EQ(isolate("clear", {}).exitCode, 0);
    EXPECT_EQ(isolate("list", {}).output.find("kept by"), std::string::npos);
    EXPECT_EQ(isolate("set", {"--partitions", "A=50%", "--sharing", "green"}).exitCode, 2);
}

TEST_F(Programs, ThatAreStoppedLeaveTheKeptGpuToOthers) {
    ASSERT_EQ(isolate("set", {"--partitions", "A=50%,B=50%", "--sharing", "mps"}).exitCode, 0);
    const std::string source = (folder / "endless.cu").string(), endless = (folder / "endless").string();
    writeFile(source, R"(#include <cstdio>
__global__ void wait(long long cycles) {
    if (threadIdx.x == 0) printf("begun\n");
    const long long end = clock64() + cycles;
    while (clock64() < end) {}
}
int main() {
    wait<<<1, 32>>>(1ll << 50);
    return cudaDeviceSynchronize();
}
)");
    ASSERT_EQ(run({BULKHEAD_PROGRAM, "cc", "-O2", source, "-o", endless}).exitCode, 0);
    const std::string program = build("examples/vector_add.cu");
    // It is in the GPU once the keeper counts it.
    const Outcome stopped =
        run({"sh", "-c",
             fmt::format("'{0}' isolate run --gpu sim:gtx1080 --leases '{1}' --partition A -- '{2}' & "
                         "until '{0}' isolate list --gpu sim:gtx1080 --leases '{1}' | grep -q endless; "
                         "do sleep 0.1; done; "
                         "'{0}' isolate run --gpu sim:gtx1080 --leases '{1}' --partition B -- '{3}'; "
                         "'{0}' isolate stop --gpu sim:gtx1080 --leases '{1}' --partition A; wait",
                         BULKHEAD_PROGRAM, leases(), endless, program)});
    EXPECT_NE(stopped.output.find("vector_add: passed\n"), std::string::npos) << stopped.output;
    EXPECT_NE(stopped.output.find("stopped process"), std::string::npos) << stopped.output;
    const Outcome after = isolate("run", {"--partition", "A", "--", program});
    EXPECT_NE(after.output.find("vector_add: passed\n"), std::string::npos) << after.output;
}

}  // namespace
}  // namespace bulkhead
