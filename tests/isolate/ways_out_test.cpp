// Whoever is inside a partition is walled, or has no device, whatever way it takes to a driver.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

/// All in one, as a loader with several of them would.
const std::vector<std::string> kWays = {
    "soname",     "soname:v1", "soname:v2", "soname:nested",   "soname:tables", "global",  "global:nested",
    "link",       "link:v1",   "path",      "path:nested",     "path:tables",   "file:v2", "crooked",
    "crooked:v2", "namespace", "anybodys",  "anybodys:nested", "library",
};

class WaysOut : public testing::Test {
  protected:
    TemporaryDirectory folder;

    void SetUp() override {
        const Outcome set = run({BULKHEAD_PROGRAM, "isolate", "set", "--gpu", "sim:gtx1080", "--leases", leases(),
                                 "--partitions", "A=50%,B=50%"});
        ASSERT_EQ(set.exitCode, 0) << set.output;
    }
    std::string leases() const { return (folder / "leases").string(); }

    /// `before`: words before the program's, such as env and what it takes away.
    Outcome inside(const std::vector<std::string>& ways, const std::vector<std::string>& before = {}) {
        std::vector<std::string> words = {BULKHEAD_PROGRAM, "isolate", "run",         "--gpu", "sim:gtx1080",
                                          "--leases",       leases(),  "--partition", "A",     "--"};
        words.insert(words.end(), before.begin(), before.end());
        words.insert(words.end(), {BULKHEAD_WAYS_OUT, BULKHEAD_OUTSIDE});
        words.insert(words.end(), ways.begin(), ways.end());
        return run(words);
    }
};

/// What the program saw by each way, in order; lines of others are left out.
std::vector<std::string> seen(const Outcome& outcome) {
    std::vector<std::string> answers;
    std::istringstream lines(outcome.output);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.rfind(": ");
        if (!line.starts_with("bulkhead: ") && at != std::string::npos) answers.push_back(line.substr(at + 2));
    }
    return answers;
}

/// A GTX 1080 has 20 SMs, and the driver without walls says 77.
const std::set<std::string> kWalledOrNothing = {"10 SMs", "no device", "no driver", "no tables"};

void expectNoWayOut(const Outcome& outcome, std::size_t ways) {
    EXPECT_EQ(outcome.exitCode, 0) << outcome.output;
    const std::vector<std::string> answers = seen(outcome);
    EXPECT_EQ(answers.size(), ways) << outcome.output;
    for (const std::string& answer : answers) EXPECT_EQ(kWalledOrNothing.count(answer), 1u) << outcome.output;
}

TEST_F(WaysOut, LeadToTheDriverOutsideWhereThereAreNoWalls) {
    const Outcome outcome = run({BULKHEAD_WAYS_OUT, BULKHEAD_OUTSIDE, "path", "file:v2", "crooked:nested", "library"});
    EXPECT_EQ(seen(outcome), std::vector<std::string>(4, "77 SMs")) << outcome.output;
}

TEST_F(WaysOut, EachByItselfIsWalled) {
    for (const std::string& way : kWays) {
        const Outcome outcome = inside({way});
        expectNoWayOut(outcome, 1);
        // All of these find a driver; tables are for nobody, and what is nobody's yet cannot be found.
        if (way.find("tables") == std::string::npos && way.find("anybodys") == std::string::npos) {
            EXPECT_EQ(seen(outcome), std::vector<std::string>{"10 SMs"}) << outcome.output;
        }
    }
}

TEST_F(WaysOut, EachAfterEachIsWalled) {
    for (const std::string& first : kWays) {
        // One process for all that come second would join once: each first way has its own, with all the others after.
        std::vector<std::string> ways = {first};
        for (const std::string& second : kWays)
            if (second != first) ways.insert(ways.end(), {second, first});
        expectNoWayOut(inside(ways), ways.size());
    }
}

TEST_F(WaysOut, AllInAnyOrderAreWalled) {
    std::mt19937 random(15);
    for (int round = 0; round < 40; ++round) {
        std::vector<std::string> ways = kWays;
        std::shuffle(ways.begin(), ways.end(), random);
        expectNoWayOut(inside(ways), ways.size());
    }
}

TEST_F(WaysOut, AreClosedToChildrenToo) {
    const std::string ways = "\"$0\" \"$1\" path link library";
    const Outcome outcome = inside({}, {"sh", "-c", ways});
    expectNoWayOut(outcome, 3);
}

TEST_F(WaysOut, LosingTheNameOfThePartitionLosesTheDevice) {
    const Outcome outcome = inside(kWays, {"env", "-u", "BULKHEAD_PARTITION"});
    expectNoWayOut(outcome, kWays.size());
    EXPECT_EQ(outcome.output.find("10 SMs"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("BULKHEAD_PARTITION is gone"), std::string::npos) << outcome.output;
}

/// The driver behind the walls is loaded then, and its own name must not lead to it.
TEST_F(WaysOut, TheDriverBehindIsNotFoundByItsName) {
    const std::string driver = std::string(BULKHEAD_OUTSIDE) + "/libcuda.so.1";
    const Outcome outcome = inside({"soname", "path", "file", "crooked", "link", "path:nested"},
                                   {"env", "BULKHEAD_GPU=cuda:0", "BULKHEAD_LIBCUDA=" + driver});
    expectNoWayOut(outcome, 6);
    EXPECT_EQ(outcome.output.find(" SMs"), std::string::npos) << outcome.output;
}

/// The driver library of compute walls alone finds everything else in the one behind it, and there is no device where
/// it could not join: a driver of tests has none of the calls that it needs.
TEST_F(WaysOut, WithoutAMemoryWallLeadToTheDriverBehindOnlyFromAPartition) {
    const std::string gate = std::string(BULKHEAD_PROGRAM).substr(0, std::string(BULKHEAD_PROGRAM).rfind('/')) +
                             "/lib/placed/libbulkhead-gate.so";
    const std::string driver = std::string(BULKHEAD_OUTSIDE) + "/libcuda.so.1";
    const std::vector<std::string> ways = {"soname", "path", "file:v2", "crooked:nested", "library", "namespace"};
    std::vector<std::string> words = {
        "env",           "LD_AUDIT=" + gate, "BULKHEAD_LIBCUDA=" + driver, "BULKHEAD_PARTITION=A", BULKHEAD_WAYS_OUT,
        BULKHEAD_OUTSIDE};
    words.insert(words.end(), ways.begin(), ways.end());
    const Outcome outcome = run(words);
    expectNoWayOut(outcome, ways.size());
    EXPECT_EQ(outcome.output.find(" SMs"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("the NVIDIA driver is too old"), std::string::npos) << outcome.output;
    // What is not in the library itself is found behind it, and nowhere else.
    const Outcome tables = run({"env", "LD_AUDIT=" + gate, "BULKHEAD_LIBCUDA=" + driver, "BULKHEAD_PARTITION=A",
                                BULKHEAD_WAYS_OUT, BULKHEAD_OUTSIDE, "soname:tables"});
    EXPECT_EQ(seen(tables).size(), 1u) << tables.output;
}

/// A program of nvcc that says how many SMs it sees and allocates memory, started in a partition of 10 SMs by way of a
/// shell, which nobody can look into beforehand. Its runtime is NVIDIA's.
class NvidiasRuntime : public WaysOut {
  protected:
    Outcome started(const std::vector<std::string>& options) {
        const std::string nvcc = findNvcc();
        const std::string source = std::string(BULKHEAD_SOURCE_DIR) + "/tests/isolate/outside/device.cu";
        const std::string program = (folder / "device").string();
        std::vector<std::string> line = {nvcc,       source,
                                         "-o",       program,
                                         "-Xlinker", "--disable-new-dtags",
                                         "-Xlinker", "-rpath=" + nvcc.substr(0, nvcc.rfind("/bin/")) + "/lib64"};
        line.insert(line.end(), options.begin(), options.end());
        const Outcome built = run(line);
        EXPECT_EQ(built.exitCode, 0) << built.output;
        return run({BULKHEAD_PROGRAM, "isolate", "run", "--gpu", "sim:gtx1080", "--leases", leases(), "--partition",
                    "A", "--", "sh", "-c", "\"$0\"; \"$0\" alloc", program});
    }
    void SetUp() override {
        if (findNvcc().empty()) GTEST_SKIP() << "there is no nvcc";
        WaysOut::SetUp();
    }
};

/// It asks the driver for tables that only NVIDIA's has, and nobody can tell where its calls are.
TEST_F(NvidiasRuntime, WithoutItsSymbolsHasNoDevice) {
    const Outcome outcome = started({"-cudart", "static", "-Xlinker", "-s"});
    EXPECT_EQ(outcome.output.find(" SMs"), std::string::npos) << outcome.output;
    EXPECT_EQ(outcome.output.find("allocated"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("no device: "), std::string::npos) << outcome.output;
}

/// As PyTorch brings it along: a library of its own, found before any other by the path in the program.
TEST_F(NvidiasRuntime, BesideAProgramIsReplacedByOneBehindWalls) {
    const Outcome outcome = started({"-cudart", "shared"});
    EXPECT_NE(outcome.output.find("10 SMs"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("allocated"), std::string::npos) << outcome.output;
}

/// As CuPy brings it along.
TEST_F(NvidiasRuntime, InsideALibraryThatIsLoadedLaterIsReplaced) {
    const std::string source = std::string(BULKHEAD_SOURCE_DIR) + "/tests/isolate/outside/later.cu";
    const std::string library = (folder / "later.so").string();
    const Outcome built = run({findNvcc(), "-shared", "-Xcompiler", "-fPIC", source, "-o", library});
    ASSERT_EQ(built.exitCode, 0) << built.output;
    const auto look = [&](std::vector<std::string> words) {
        words.insert(words.end(), {"--gpu", "sim:gtx1080", "--", "python3", "-c",
                                   "import ctypes, sys; ctypes.CDLL(sys.argv[1]).look()", library});
        return run(words).output;
    };
    EXPECT_EQ(look({BULKHEAD_PROGRAM, "isolate", "run", "--leases", leases(), "--partition", "A"}),
              "10 SMs, 0 wrong\n");
    EXPECT_EQ(look({BULKHEAD_PROGRAM, "exec", "--quiet"}), "20 SMs, 0 wrong\n");
}

/// Ours takes its place in a program with symbols, and has the walls.
TEST_F(NvidiasRuntime, InsideAProgramIsReplacedByOneBehindWalls) {
    const Outcome outcome = started({"-cudart", "static"});
    EXPECT_NE(outcome.output.find("10 SMs"), std::string::npos) << outcome.output;
    EXPECT_NE(outcome.output.find("allocated"), std::string::npos) << outcome.output;
}

}  // namespace
}  // namespace bulkhead
