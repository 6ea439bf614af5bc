#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Words = std::vector<std::string>;

const fs::path kTests = fs::path(BULKHEAD_SOURCE_DIR) / "tests";
const std::string kHeader = ".version 7.0\n.target sm_35\n.address_size 64\n";

const std::string kVectorAdd = kHeader + R"(
.visible .entry vadd(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p;
    .reg .u32 %r<6>;
    .reg .u64 %rd<8>;
    .reg .f32 %f<4>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.u32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p, %r5, %r1;
    @%p bra DONE;
    mul.wide.u32 %rd4, %r5, 4;
    add.u64 %rd5, %rd1, %rd4;
    add.u64 %rd6, %rd2, %rd4;
    add.u64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}
)";

/// Does nothing with the buffer it is given: what --dump writes back is what --arg made.
const std::string kNothing = kHeader + ".visible .entry nothing(.param .u64 p)\n{\n    ret;\n}\n";

/// Instructions as written: statements that are no declarations.
std::size_t instructionsOf(const std::string& ptx) {
    std::istringstream lines(ptx.substr(ptx.find('{')));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line);)
        count += line.ends_with(";") && line.find(".reg") == std::string::npos;
    return count;
}

/// The line that holds this text, counted from 1.
int lineOf(const std::string& ptx, const std::string& text) {
    const std::string before = ptx.substr(0, ptx.find(text));
    return static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
}

template <class T>
std::vector<T> values(const fs::path& file) {
    const std::string bytes = readFile(file);
    std::vector<T> all(bytes.size() / sizeof(T));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
}

template <class T>
std::string bytesOf(const std::vector<T>& all) {
    return {reinterpret_cast<const char*>(all.data()), all.size() * sizeof(T)};
}

Words operator+(Words a, const Words& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

class Run : public testing::Test {
  protected:
    std::string write(const std::string& name, const std::string& bytes) {
        writeFile(directory_ / name, bytes);
        return file(name);
    }
    std::string file(const std::string& name) const { return (directory_ / name).string(); }

    /// A run that succeeds and says nothing on standard error; what its --json holds.
    json done(const Words& arguments) {
        const Outcome o = run(Words{"run"} + arguments + Words{"--json", "-"});
        EXPECT_EQ(o.exitCode, 0) << o.err;
        EXPECT_EQ(o.err, "");
        return o.exitCode == 0 ? json::parse(o.out) : json();
    }

    /// Vector add of n elements, one thread each.
    Words vectorAdd(std::uint64_t n, std::uint64_t block) {
        const std::string count = std::to_string(n);
        return {write("vadd.ptx", kVectorAdd),
                "--grid",
                std::to_string(n / block),
                "--block",
                std::to_string(block),
                "--arg",
                "f32[" + count + "]=random:1",
                "--arg",
                "f32[" + count + "]=iota",
                "--arg",
                "f32[" + count + "]",
                "--arg",
                "u32:" + count};
    }

    /// The content that --arg gives a buffer.
    std::string contentOf(const std::string& argument) {
        done({write("nothing.ptx", kNothing), "--arg", argument, "--dump", "0=" + file("dump")});
        return readFile(file("dump"));
    }

    /// Refused with one line, and none of the files it was to write is there.
    void expectNothingLeft(const Words& arguments, const std::string& part) {
        SCOPED_TRACE(arguments.back());
        const Words outputs = {"--json", file("out.json"), "--timeline", file("timeline.json")};
        expectRefused(Words{"run"} + arguments + outputs, part);
        for (const auto& entry : fs::directory_iterator(directory_.path()))
            EXPECT_TRUE(entry.path().extension() == ".ptx" || entry.path().extension() == ".input") << entry.path();
    }

    TemporaryDirectory directory_;
};

TEST_F(Run, JsonHoldsWhatTheKernelDid) {
    // 64 blocks of 8 warps. Every lane's element exists, so the guarded branch is issued by every warp and taken by no
    // lane. A warp's 32 floats are one line of 128 B: two lines read, one written, none of them twice.
    const std::uint64_t n = 16384, warps = n / 32, instructions = instructionsOf(kVectorAdd);
    const json j = done(vectorAdd(n, 256));
    EXPECT_EQ(instructions, 19u);
    EXPECT_EQ(j["gpu"], "sim:gtx480");
    EXPECT_EQ(j["kernel"], "vadd");
    EXPECT_EQ(j["grid"], json({64, 1, 1}));
    EXPECT_EQ(j["block"], json({256, 1, 1}));
    EXPECT_EQ(j["warp_instructions"], instructions * warps);
    EXPECT_EQ(j["thread_instructions"], (instructions - 1) * n);
    const auto cycles = j["cycles"].get<double>();
    // 15 SMs of 2 schedulers issue at most 30 warp instructions a cycle; DRAM alone takes 280 cycles.
    EXPECT_GE(cycles, std::max(280.0, static_cast<double>(instructions * warps) / 30));
    EXPECT_DOUBLE_EQ(j["ipc"], j["thread_instructions"].get<double>() / cycles);
    EXPECT_EQ(j["l1"]["hits"], 0);
    EXPECT_EQ(j["l1"]["misses"], 2 * warps);
    EXPECT_EQ(j["l1"]["hit_rate"], 0.0);
    EXPECT_EQ(j["l1"]["bytes"], 3 * n * 4);
    EXPECT_EQ(j["l2"]["hits"], 0);
    EXPECT_EQ(j["l2"]["misses"], 3 * warps);
    EXPECT_EQ(j["l2"]["hit_rate"], 0.0);
    EXPECT_EQ(j["l2"]["bytes"], 3 * n * 4);
    // Operands are read; results miss in L2, so they are written and their lines fetched.
    EXPECT_EQ(j["dram"]["reads"], 3 * warps);
    EXPECT_EQ(j["dram"]["writes"], warps);
    EXPECT_EQ(j["dram"]["bytes"], 4 * n * 4);
    EXPECT_EQ(j["dram"]["row_hits"].get<std::uint64_t>() + j["dram"]["row_misses"].get<std::uint64_t>(), 4 * warps);
    EXPECT_GT(j["wall_seconds"], 0.0);
    EXPECT_DOUBLE_EQ(j["warp_instructions_per_second"],
                     j["warp_instructions"].get<double>() / j["wall_seconds"].get<double>());
    // 700 MHz.
    EXPECT_DOUBLE_EQ(j["microseconds"], cycles / 700);
}

TEST_F(Run, HitRatesCountHitsAndMisses) {
    // One warp reads a line, waits for it, and reads it three times more.
    const std::string ptx = kHeader + R"(
.visible .entry again(.param .u64 p)
{
    .reg .u32 %r<9>;
    .reg .u64 %rd<3>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r2, %r1, 1;
    ld.global.u32 %r3, [%rd1];
    ld.global.u32 %r4, [%rd1+4];
    ld.global.u32 %r5, [%rd1+124];
    ret;
}
)";
    const json j = done({write("again.ptx", ptx), "--block", "32", "--arg", "i32[32]"});
    EXPECT_EQ(j["l1"]["hits"], 3);
    EXPECT_EQ(j["l1"]["misses"], 1);
    EXPECT_EQ(j["l1"]["hit_rate"], 0.75);
    EXPECT_EQ(j["l2"]["misses"], 1);
    EXPECT_EQ(j["dram"]["reads"], 1);
    EXPECT_EQ(j["dram"]["row_hits"], 0);
    EXPECT_EQ(j["dram"]["row_misses"], 1);
}

TEST_F(Run, DumpHoldsTheResults) {
    // 1000 of the 1024 threads have an element.
    done({write("vadd.ptx", kVectorAdd), "--grid", "8", "--block", "128", "--arg", "f32[1000]=random:3", "--arg",
          "f32[1000]=random:4", "--arg", "f32[1000]", "--arg", "u32:1000", "--dump", "0=" + file("a"), "--dump",
          "1=" + file("b"), "--dump", "2=" + file("c")});
    const auto a = values<float>(file("a")), b = values<float>(file("b")), c = values<float>(file("c"));
    ASSERT_EQ(c.size(), 1000u);
    for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i], a[i] + b[i]) << i;
}

TEST_F(Run, EveryGpuAddsRight) {
    for (const std::string gpu : {"gtx480", "tx2", "gtx1070", "gtx1080", "v100", "h200"}) {
        const json j = done(vectorAdd(2048, 64) +
                            Words{"--gpu", "sim:" + gpu, "--dump", "2=" + file("c"), "--dump", "0=" + file("a")});
        EXPECT_EQ(j["gpu"], "sim:" + gpu);
        EXPECT_EQ(j["warp_instructions"], 19 * 64);
        const auto a = values<float>(file("a")), c = values<float>(file("c"));
        ASSERT_EQ(c.size(), 2048u);
        for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(c[i], a[i] + static_cast<float>(i)) << gpu << " " << i;
    }
}

TEST_F(Run, WhatClangMakesOfVectorAdd) {
    const std::string fixture = (kTests / "ptx" / "fixtures" / "clang" / "vector_add.sm_35.ptx").string();
    done({fixture, "--kernel", "vectorAdd", "--grid", "4", "--block", "64", "--arg", "f32[256]=random:5", "--arg",
          "f32[256]=iota", "--arg", "f32[256]", "--arg", "i32:200", "--dump", "0=" + file("a"), "--dump",
          "2=" + file("c")});
    const auto a = values<float>(file("a")), c = values<float>(file("c"));
    ASSERT_EQ(c.size(), 256u);
    for (std::size_t i = 0; i < c.size(); ++i)
        EXPECT_EQ(c[i], i < 200 ? a[i] + static_cast<float>(i) : 0.0f) << i;  // beyond n nothing is written
}

TEST_F(Run, WithoutJsonPrintsATable) {
    const Outcome o = run(Words{"run"} + vectorAdd(1024, 64));
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.err, "");
    for (const char* part : {"vadd on sim:gtx480, gto scheduler", "simulated time", "warp instructions", "608"})
        EXPECT_NE(o.out.find(part), std::string::npos) << part << "\n" << o.out;
}

TEST_F(Run, ASampleSaysWhatWasTimed) {
    const Words all = vectorAdd(16384 * 128, 128) + Words{"--gpu", "sim:tx2"}, words = all + Words{"--sample"};
    const json full = done(all + Words{"--dump", "2=" + file("full")});
    const json sampled = done(words + Words{"--dump", "2=" + file("sampled")});
    EXPECT_FALSE(full.contains("sample"));
    EXPECT_EQ(sampled["sample"]["blocks"], 16384);
    EXPECT_LT(sampled["sample"]["timed_blocks"], 16384);
    EXPECT_EQ(sampled["warp_instructions"], full["warp_instructions"]);
    EXPECT_NEAR(sampled["cycles"].get<double>(), full["cycles"].get<double>(),
                sampled["sample"]["cycles_half_width"].get<double>());
    EXPECT_EQ(readFile(file("sampled")), readFile(file("full")));
    const Outcome text = run(Words{"run"} + words);
    for (const char* part : {" ± ", "cycles (95 %)", "of 16384 blocks were timed"})
        EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
}

TEST_F(Run, RefusesToSampleWhatCannotBe) {
    const Words run = {"run", "VA", "--size", "test", "--sample"};
    expectRefused(run + Words{"--gpu", "cuda:0"}, "--sample: is for simulated GPUs");
    expectRefused(run + Words{"--scheduler", "ccws"}, "--sample: the scheduler must be gto or lrr");
    expectRefused(run + Words{"--scheduler", "best-swl"}, "--sample: the scheduler must be gto or lrr");
    expectNothingLeft(vectorAdd(1024, 64) + Words{"--sample"}, "--sample: leaves out most of a timeline");
}

TEST_F(Run, WithoutTimeGivesTheSameResultsAndNoTime) {
    const Words words = vectorAdd(1024 * 64, 64) + Words{"--functional"};
    const json timed = done(vectorAdd(1024 * 64, 64) + Words{"--dump", "2=" + file("timed")});
    const json executed = done(words + Words{"--dump", "2=" + file("executed")});
    EXPECT_EQ(readFile(file("executed")), readFile(file("timed")));
    EXPECT_EQ(executed["functional"], true);
    EXPECT_EQ(executed["warp_instructions"], timed["warp_instructions"]);
    EXPECT_EQ(executed["thread_instructions"], timed["thread_instructions"]);
    EXPECT_EQ(executed["memory_instructions"], (3 + 4) * 1024 * 64 / 32);  // three of global memory, four of parameters
    for (const char* of_time : {"cycles", "microseconds", "ipc", "l1", "dram", "warps"})
        EXPECT_FALSE(executed.contains(of_time)) << of_time;
    const Outcome text = run(Words{"run"} + words);
    for (const char* part : {"vadd on sim:gtx480, executed without time", "memory instructions"})
        EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
    EXPECT_EQ(text.out.find("cycles"), std::string::npos) << text.out;
}

TEST_F(Run, AWorkloadWithoutTimeIsCheckedAllTheSame) {
    const json result = done({"VA", "--size", "test", "--functional"});
    EXPECT_EQ(result["correct"], true);
    EXPECT_EQ(result["functional"], true);
    EXPECT_EQ(result["total"]["timed_launches"], 0);
    EXPECT_GT(result["kernels"][0]["warp_instructions"], 0);
    EXPECT_FALSE(result.contains("seconds"));
    EXPECT_FALSE(result["kernels"][0].contains("cycles"));
    const Outcome text = run({"run", "VA", "--size", "test", "--functional"});
    EXPECT_NE(text.out.find("Answer: VA has a result equal to the CPU's"), std::string::npos) << text.out;
}

TEST_F(Run, RefusesToLeaveOutTimeAndToAskForIt) {
    const Words run = {"run", "VA", "--size", "test", "--functional"};
    expectRefused(run + Words{"--gpu", "cuda:0"}, "--functional: is for simulated GPUs");
    expectRefused(run + Words{"--sample"}, "--sample and --functional: give one, not both");
    expectRefused(run + Words{"--scheduler", "lrr"}, "--functional: leaves out warp schedulers");
    expectRefused(run + Words{"--metrics", "ncu"}, "--functional: leaves out what --metrics counts");
    expectRefused(run + Words{"--timeline", file("timeline")}, "--functional: leaves out most of a timeline");
    EXPECT_FALSE(std::filesystem::exists(file("timeline")));
}

TEST_F(Run, ExtentsHaveUpToThreeNumbers) {
    const std::string ptx = write("nothing.ptx", kNothing);
    const json j = done({ptx, "--grid", "2x3x4", "--block", "8,2", "--arg", "u8[1]"});
    EXPECT_EQ(j["grid"], json({2, 3, 4}));
    EXPECT_EQ(j["block"], json({8, 2, 1}));
    EXPECT_EQ(j["warp_instructions"], 24);
    EXPECT_EQ(j["thread_instructions"], 24 * 16);
}

TEST_F(Run, ScalarsOfEveryType) {
    struct Case {
        std::string type, ptx, value, bytes;
    };
    const auto le = [](std::uint64_t bits, int count) {
        return bytesOf(std::vector<std::uint64_t>{bits}).substr(0, count);
    };
    const std::vector<Case> cases = {
        {"i8", "s8", "-128", le(0x80, 1)},
        {"u8", "u8", "255", le(0xff, 1)},
        {"i16", "s16", "-2", le(0xfffe, 2)},
        {"u16", "u16", "0xbeef", le(0xbeef, 2)},
        {"i32", "s32", "-2147483648", le(0x80000000, 4)},
        {"u32", "u32", "4294967295", le(0xffffffff, 4)},
        {"i64", "s64", "-9223372036854775808", le(std::uint64_t{1} << 63, 8)},
        {"u64", "u64", "0xffffffffffffffff", le(~std::uint64_t{0}, 8)},
        {"f32", "f32", "1.5", bytesOf(std::vector<float>{1.5f})},
        {"f32", "f32", "-1e-3", bytesOf(std::vector<float>{-1e-3f})},
        {"f64", "f64", "0.1", bytesOf(std::vector<double>{0.1})},
    };
    for (const Case& c : cases) {
        const std::size_t bits = c.bytes.size() * 8;
        const std::string reg = (c.type[0] == 'f' ? ".f" : ".b") + std::to_string(std::max<std::size_t>(bits, 16));
        const std::string ptx = kHeader + ".visible .entry keep(.param .u64 p, .param ." + c.ptx +
                                " v)\n{\n    .reg .u64 %rd;\n    .reg " + reg + " %v;\n    ld.param.u64 %rd, [p];\n" +
                                "    ld.param." + c.ptx + " %v, [v];\n    st.global." + c.ptx +
                                " [%rd], %v;\n    ret;\n}\n";
        done({write("keep.ptx", ptx), "--arg", c.type + "[1]", "--arg", c.type + ":" + c.value, "--dump",
              "0=" + file("v")});
        EXPECT_EQ(readFile(file("v")), c.bytes) << c.type << ":" << c.value;
    }
}

template <class T>
std::vector<T> countedUp(std::size_t n) {
    std::vector<T> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<T>(i);
    return all;
}

TEST_F(Run, BuffersOfEveryType) {
    // 300 is more than a byte counts to: the number's low bits remain.
    EXPECT_EQ(contentOf("u8[300]=iota"), bytesOf(countedUp<std::uint8_t>(300)));
    EXPECT_EQ(contentOf("i8[300]=iota"), bytesOf(countedUp<std::uint8_t>(300)));
    EXPECT_EQ(contentOf("u16[300]=iota"), bytesOf(countedUp<std::uint16_t>(300)));
    EXPECT_EQ(contentOf("i16[300]=iota"), bytesOf(countedUp<std::int16_t>(300)));
    EXPECT_EQ(contentOf("u32[300]=iota"), bytesOf(countedUp<std::uint32_t>(300)));
    EXPECT_EQ(contentOf("i32[300]=iota"), bytesOf(countedUp<std::int32_t>(300)));
    EXPECT_EQ(contentOf("u64[300]=iota"), bytesOf(countedUp<std::uint64_t>(300)));
    EXPECT_EQ(contentOf("i64[300]=iota"), bytesOf(countedUp<std::int64_t>(300)));
    EXPECT_EQ(contentOf("f32[300]=iota"), bytesOf(countedUp<float>(300)));
    EXPECT_EQ(contentOf("f64[300]=iota"), bytesOf(countedUp<double>(300)));
    EXPECT_EQ(contentOf("f64[7]=zero"), std::string(56, '\0'));
    EXPECT_EQ(contentOf("i16[7]"), std::string(14, '\0'));
}

TEST_F(Run, ASeedMeansTheSameNumbers) {
    const std::string first = contentOf("f32[4096]=random:7");
    EXPECT_EQ(contentOf("f32[4096]=random:7"), first);
    EXPECT_NE(contentOf("f32[4096]=random:8"), first);
    double sum = 0;
    for (float v : values<float>(file("dump"))) {
        EXPECT_GE(v, 0.0f);
        EXPECT_LT(v, 1.0f);
        sum += v;
    }
    // Mean 1/2, standard error 1/sqrt(12 * 4096) = 0.0045: six of them.
    EXPECT_NEAR(sum / 4096, 0.5, 0.027);
    // A long sequence begins with a short one's numbers.
    EXPECT_EQ(contentOf("f32[16]=random:7"), first.substr(0, 64));
}

TEST_F(Run, AFileGoesInAndComesBack) {
    std::string bytes;
    for (int i = 0; i < 1000; ++i) bytes += static_cast<char>(i * 37);
    EXPECT_EQ(contentOf("u64[125]=file:" + write("content.input", bytes)), bytes);
    EXPECT_EQ(contentOf("u8[1000]=file:" + file("content.input")), bytes);
    expectRefused({"run", file("nothing.ptx"), "--arg", "u8[999]=file:" + file("content.input")},
                  "holds more than the 999 bytes of the buffer");
}

TEST_F(Run, TheSameRunTwiceIsTheSame) {
    json first = done(vectorAdd(4096, 128)), second = done(vectorAdd(4096, 128));
    for (json* j : {&first, &second}) {
        j->erase("wall_seconds");
        j->erase("warp_instructions_per_second");
    }
    EXPECT_EQ(first, second);
    EXPECT_GT(first["cycles"], 0);
}

TEST_F(Run, SetChangesTheGpu) {
    // One warp, one load from DRAM: what DRAM takes longer, the kernel does.
    const std::string ptx = kHeader + R"(
.visible .entry load(.param .u64 p)
{
    .reg .u32 %r<3>;
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1];
    add.u32 %r2, %r1, 1;
    st.global.u32 [%rd1], %r2;
    ret;
}
)";
    const Words words = {write("load.ptx", ptx), "--block", "32", "--arg", "i32[32]"};
    const auto plain = done(words)["cycles"].get<std::int64_t>();
    EXPECT_GT(plain, 280);
    EXPECT_EQ(done(words + Words{"--set", "dram.latency=1000"})["cycles"].get<std::int64_t>(), plain + 1000 - 280);
    // Of several settings of one figure the last one counts.
    EXPECT_EQ(done(words + Words{"--set", "dram.latency=500", "--set", "dram.latency=1000"})["cycles"],
              plain + 1000 - 280);
}

TEST_F(Run, SchedulersDiffer) {
    const Words words = vectorAdd(16384, 256);
    const json gto = done(words), lrr = done(words + Words{"--scheduler", "lrr"});
    EXPECT_EQ(gto["scheduler"], "gto");
    EXPECT_EQ(lrr["scheduler"], "lrr");
    EXPECT_EQ(gto["warp_instructions"], lrr["warp_instructions"]);
    EXPECT_NE(gto["cycles"], lrr["cycles"]);
}

TEST_F(Run, DynamicSharedMemoryLimitsTheBlocks) {
    // 48 KB of shared memory on an SM of a GTX 480.
    const json j = done(vectorAdd(4096, 64) + Words{"--shared", "16384"});
    EXPECT_EQ(j["blocks_per_sm"], 3);
    EXPECT_EQ(j["occupancy_limit"], "shared memory");
}

TEST_F(Run, ObservesAKernel) {
    const json j = done(vectorAdd(4096, 128) + Words{"--observe", file("why.json")});
    const json why = json::parse(readFile(file("why.json")));
    for (const json& result : why["results"]) {
        if (!result["title"].get<std::string>().ends_with("cost by line of PTX")) continue;
        std::uint64_t executions = 0;
        for (const json& row : result["rows"]) executions += row["executions"].get<std::uint64_t>();
        EXPECT_EQ(executions, j["warp_instructions"]);
        return;
    }
    FAIL() << "no costs";
}

TEST_F(Run, ObservesAWorkload) {
    const Outcome o = run({"run", "ATAX", "--size", "test", "--scheduler", "ciao-c", "--observe", file("why.html"),
                           "--timeline", file("trace.json")});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    const std::string page = readFile(file("why.html"));
    for (const char* part : {"over time", "decisions of the scheduler", "reuse distances", "latencies of loads"})
        EXPECT_NE(page.find(part), std::string::npos) << part;
    EXPECT_NE(readFile(file("trace.json")).find("ataxRows"), std::string::npos);
}

TEST_F(Run, TimelineShowsEveryBlock) {
    done(vectorAdd(4096, 128) + Words{"--timeline", file("timeline.json")});
    const json trace = json::parse(readFile(file("timeline.json")));
    std::map<std::pair<int, int>, int> open;  // by process and thread
    std::vector<bool> seen(32);
    for (const json& event : trace["traceEvents"]) {
        const std::string kind = event["ph"];
        if (kind == "M") continue;
        EXPECT_GE(event["ts"], 0.0);
        if (kind != "B" && kind != "E") continue;
        int& depth = open[{event["pid"], event["tid"]}];
        depth += kind == "B" ? 1 : -1;
        EXPECT_TRUE(depth == 0 || depth == 1);
        if (kind == "B" && event["pid"] != 0) seen.at(event["args"]["block"].get<std::size_t>()) = true;
    }
    for (const auto& [where, depth] : open) EXPECT_EQ(depth, 0);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 32);
}

TEST_F(Run, JsonGoesToAFile) {
    const Outcome o = run(Words{"run"} + vectorAdd(1024, 64) + Words{"--json", file("result.json")});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(json::parse(readFile(file("result.json")))["kernel"], "vadd");
}

TEST_F(Run, NamesNeedNotBeUtf8) {
    const Outcome o = run({"run", write("\xff.ptx", kNothing), "--arg", "u8[1]", "--json", "-"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(json::parse(o.out)["kernel"], "nothing");
}

TEST_F(Run, DevicePrintfGoesToStandardOutput) {
    const std::string fixture = (kTests / "ptx" / "fixtures" / "clang" / "output.sm_35.ptx").string();
    const std::string input = write("values.input", bytesOf(std::vector<std::int32_t>{3, -5, 0, 8}));
    const Words words = {"run", fixture, "--block", "4", "--arg", "i32[4]=file:" + input, "--json", file("j")};
    const Outcome o = run(words + Words{"--arg", "i32:4"});
    EXPECT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.out, "thread 1: \"-5\" is negative,\t-2.500000\ndone\ndone\ndone\ndone\n");
    fs::remove(file("j"));
    // Its assert(i < n) fails where n is less than the block.
    const Outcome failed = run(words + Words{"--arg", "i32:2"});
    EXPECT_EQ(failed.exitCode, 2);
    EXPECT_NE(failed.err.find("assertion failed: kernel report"), std::string::npos) << failed.err;
    EXPECT_EQ(std::count(failed.err.begin(), failed.err.end(), '\n'), 1) << failed.err;
    EXPECT_FALSE(fs::exists(file("j")));
}

TEST_F(Run, RefusesWhatIsNoPtxFile) {
    expectNothingLeft({file("missing.ptx")}, "missing.ptx: no such file");
    expectNothingLeft({directory_.path().string()}, "is a folder without a file .ptx");
    std::string garbage;
    for (unsigned i = 0, state = 1; i < 4096; ++i, state = state * 1664525 + 1013904223)
        garbage += static_cast<char>(state >> 24);
    expectNothingLeft({write("garbage.ptx", garbage)}, "garbage.ptx:1:1");
    expectNothingLeft({write("empty.ptx", "")}, "empty.ptx");
    expectNothingLeft({write("kernelless.ptx", kHeader)}, "has no kernel");
    expectRefused({"run"}, "FILE");
}

/// In the shape that Triton 3 gives a kernel: pointers and sizes of the program's, then two pointers of its own. Each
/// thread adds what its left neighbour in the block has written to shared memory, the first one what the last has.
const std::string kTriton = R"(.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 global_smem[];
.visible .entry neighbours(
    .param .u64 .ptr .global .align 1 in, .param .u64 .ptr .global .align 1 out, .param .u32 n,
    .param .u64 .ptr .global .align 1 scratch, .param .u64 .ptr .global .align 1 profile)
.reqntid 64
{
    .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>; .reg .f32 %f<4>;
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    ld.param.u32 %r9, [n];
    ld.param.u64 %rd5, [scratch];
    ld.param.u64 %rd6, [profile];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r3, %r2, 64, %r1;
    mul.wide.u32 %rd3, %r3, 4;
    add.u64 %rd4, %rd1, %rd3;
    add.u64 %rd2, %rd2, %rd3;
    ld.global.f32 %f1, [%rd4];
    mov.u32 %r4, global_smem;
    mad.lo.u32 %r5, %r1, 4, %r4;
    st.shared.f32 [%r5], %f1;
    bar.sync 0;
    add.u32 %r6, %r1, 63;
    and.b32 %r6, %r6, 63;
    mad.lo.u32 %r7, %r6, 4, %r4;
    ld.shared.f32 %f2, [%r7];
    add.f32 %f3, %f1, %f2;
    setp.ge.u32 %p1, %r3, %r9;
    or.b64 %rd7, %rd6, SCRATCH;
    setp.ne.u64 %p2, %rd7, 0;
    or.pred %p1, %p1, %p2;
    @!%p1 st.global.f32 [%rd2], %f3;
    ret;
}
)";

class RunFolder : public Run {
  protected:
    void SetUp() override {
        fs::create_directory(directory_ / "kernel");
        launch_ = {{"hash", "0123"},
                   {"target", {{"backend", "cuda"}, {"arch", 80}, {"warp_size", 32}}},
                   {"num_warps", 2},
                   {"num_ctas", 1},
                   {"cluster_dims", {1, 1, 1}},
                   {"shared", 256},
                   {"name", "neighbours"},
                   {"global_scratch_size", 0},
                   {"profile_scratch_size", 0}};
        put("%rd5");
        write("kernel/neighbours.ttir", "module {}\n");
        write("kernel/__grp__neighbours.json", "{\"child_paths\": {}}\n");
    }
    /// `scratch`: what must be null for anything to be written.
    void put(const std::string& scratch) {
        std::string ptx = kTriton;
        ptx.replace(ptx.find("SCRATCH"), 7, scratch);
        write("kernel/neighbours.ptx", ptx);
        write("kernel/neighbours.json", launch_.dump());
    }
    Words words() const {
        return {file("kernel"),  "--gpu", "sim:h200", "--grid", "3",      "--arg",
                "f32[192]=iota", "--arg", "f32[192]", "--arg",  "u32:150"};
    }
    void expectFolderRefused(const std::string& part) {
        write("kernel/neighbours.json", launch_.dump());
        expectRefused(Words{"run"} + words(), part);
    }
    json launch_;
};

TEST_F(RunFolder, OfTritonsIsLaunchedAsItsJsonSays) {
    const json out = done(words() + Words{"--dump", "1=" + file("out")});
    EXPECT_EQ(out["kernel"], "neighbours");
    EXPECT_EQ(out["grid"], json({3, 1, 1}));
    EXPECT_EQ(out["block"], json({64, 1, 1}));
    const auto sums = values<float>(file("out"));
    ASSERT_EQ(sums.size(), 192u);
    for (unsigned i = 0; i < 192; ++i) {
        const unsigned left = i % 64 ? i - 1 : i + 63;
        EXPECT_EQ(sums[i], i < 150 ? static_cast<float>(i + left) : 0) << i;
    }
}

TEST_F(RunFolder, TritonsOwnMemoryIsThereWhereTheKernelWantsIt) {
    // The kernel writes its sums only if what it is told to look at is null, and scratch memory no longer is.
    launch_["global_scratch_size"] = 128;
    put("%rd5");
    done(words() + Words{"--dump", "1=" + file("out")});
    EXPECT_EQ(values<float>(file("out"))[1], 0);
    put("%rd6");
    done(words() + Words{"--dump", "1=" + file("out")});
    EXPECT_EQ(values<float>(file("out"))[1], 1);
}

TEST_F(RunFolder, ProgramsMayBeClusters) {
    // Each block says who it is: its cluster, its rank and how many there are.
    write("kernel/neighbours.ptx", R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry neighbours(.param .u64 out, .param .u64 scratch, .param .u64 profile)
{
    .reg .b32 %r<9>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %clusterid.x; mov.u32 %r3, %cluster_ctarank;
    mov.u32 %r4, %cluster_nctarank; mad.lo.u32 %r5, %r2, 10, %r3; mad.lo.u32 %r5, %r4, 100, %r5;
    mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r5; ret;
}
)");
    launch_["num_ctas"] = 4;
    launch_.erase("cluster_dims");
    write("kernel/neighbours.json", launch_.dump());
    const json out =
        done({file("kernel"), "--gpu", "sim:h200", "--grid", "3", "--arg", "u32[12]", "--dump", "0=" + file("out")});
    EXPECT_EQ(out["grid"], json({12, 1, 1}));
    const auto who = values<std::uint32_t>(file("out"));
    ASSERT_EQ(who.size(), 12u);
    for (std::uint32_t b = 0; b < 12; ++b) EXPECT_EQ(who[b], 400 + b / 4 * 10 + b % 4);
    launch_["num_ctas"] = 2;
    launch_["cluster_dims"] = {1, 2, 1};
    write("kernel/neighbours.json", launch_.dump());
    EXPECT_EQ(done({file("kernel"), "--gpu", "sim:h200", "--grid", "3", "--arg", "u32[12]"})["grid"], json({3, 2, 1}));
}

/// In the shape that Triton 3.6 gives a kernel of one tensor: a descriptor, extents, strides, and two pointers of its
/// own. It copies the box at row 4, column 8 and leaves it, with extents and strides, in the buffer before.
const std::string kTensor = R"(.version 8.0
.target sm_90
.address_size 64
.shared .align 8 .b64 object; .shared .align 128 .b8 box[256];
.visible .entry neighbours(.param .u64 out, .param .align 64 .b8 map[128], .param .u32 m, .param .u32 n,
    .param .u64 sm, .param .u64 sn, .param .u64 scratch, .param .u64 profile)
{
    .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %rd<12>;
    mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
    ld.param.u64 %rd1, [out]; mov.u32 %r2, object; mov.u32 %r3, box; mov.b64 %rd2, map;
    cvta.param.u64 %rd3, %rd2;
    mbarrier.init.shared::cta.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 64;
    mov.u32 %r4, 8; mov.u32 %r5, 4;
    cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd3, {%r4, %r5}], [%r2];
W:  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra W;
    mov.u32 %r6, 0;
L:  add.u32 %r7, %r3, %r6; ld.shared.u32 %r8, [%r7]; cvt.u64.u32 %rd4, %r6; add.u64 %rd5, %rd1, %rd4;
    st.global.u32 [%rd5], %r8; add.u32 %r6, %r6, 4; setp.lt.u32 %p3, %r6, 64; @%p3 bra L;
    ld.param.u32 %r8, [m]; st.global.u32 [%rd1+64], %r8; ld.param.u32 %r8, [n]; st.global.u32 [%rd1+68], %r8;
    ld.param.u64 %rd6, [sm]; st.global.u32 [%rd1+72], %rd6; ld.param.u64 %rd6, [sn]; st.global.u32 [%rd1+76], %rd6;
    ret;
}
)";

TEST_F(RunFolder, ATensorIsADescriptorAndItsExtents) {
    write("kernel/neighbours.ptx", kTensor);
    launch_["tensordesc_meta"] = json::array(
        {{{"swizzle", 0}, {"elem_size", 4}, {"elem_type", 2}, {"block_size", {4, 4}}, {"fp4_padded", false}}});
    write("kernel/neighbours.json", launch_.dump());
    const auto with = [&](const std::string& tensor) {
        return Words{file("kernel"), "--gpu", "sim:h200", "--arg", "u32[20]", "--arg", tensor};
    };
    done(with("u32[16x32]=iota") + Words{"--dump", "0=" + file("out")});
    const auto found = values<std::uint32_t>(file("out"));
    ASSERT_EQ(found.size(), 20u);
    for (std::uint32_t i = 0; i < 16; ++i) EXPECT_EQ(found[i], (4 + i / 4) * 32 + 8 + i % 4);
    EXPECT_EQ(found[16], 16u);
    EXPECT_EQ(found[17], 32u);
    EXPECT_EQ(found[18], 32u);
    EXPECT_EQ(found[19], 1u);
    expectRefused(Words{"run"} + with("u32[4x4x32]"), "wants a tensor of 2 dimensions");
    expectRefused(Words{"run"} + with("u16[16x32]"), "wants elements of 4 bytes");
    expectRefused(Words{"run"} + with("u32[16x31]"), "rows of 124 bytes");
    expectRefused(Words{"run"} + with("u32[16x]"), "the length must be a whole number above 0");
}

TEST_F(RunFolder, WhatIsMissingIsNamed) {
    const json whole = launch_;
    const auto without = [&](const char* key, const std::string& part) {
        SCOPED_TRACE(key);
        launch_ = whole;
        launch_.erase(key);
        expectFolderRefused(part);
    };
    without("name", "name");
    without("num_warps", "num_warps");
    without("shared", "shared");
    without("target", "target");
    launch_ = whole;
    launch_["target"]["backend"] = "hip";
    expectFolderRefused("'hip' is not 'cuda'");
    launch_ = whole;
    launch_["num_warps"] = 33;
    expectFolderRefused("33 is not 1 to 32");
    launch_ = whole;
    launch_["num_warps"] = "two";
    expectFolderRefused("num_warps");
    launch_ = whole;
    launch_["num_ctas"] = 2;
    expectFolderRefused("2 blocks (num_ctas) are no cluster of 1x1x1 (cluster_dims)");
    launch_ = whole;
    launch_["num_ctas"] = 32;
    launch_.erase("cluster_dims");
    expectFolderRefused("32 blocks");
    launch_ = whole;
    launch_["tensordesc_meta"] = json::array({{{"swizzle", 3}, {"elem_size", 4}, {"elem_type", 7}}});
    expectFolderRefused("block_size");
    launch_ = whole;
    launch_["name"] = "others";
    expectFolderRefused("has no kernel others");
    launch_ = json::array();
    expectFolderRefused("neighbours.json");
    write("kernel/neighbours.json", "{");
    expectRefused(Words{"run"} + words(), "neighbours.json");
    fs::remove(directory_ / "kernel/neighbours.json");
    expectRefused(Words{"run"} + words(), "no neighbours.json");
    fs::remove(directory_ / "kernel/neighbours.ptx");
    expectRefused(Words{"run"} + words(), "without a file .ptx");
}

TEST_F(RunFolder, WithTwoKernelsOneIsChosen) {
    fs::copy(directory_ / "kernel/neighbours.ptx", directory_ / "kernel/other.ptx");
    expectRefused(Words{"run"} + words(), "has 2 kernels: choose one with --kernel: neighbours, other");
    EXPECT_EQ(done(words() + Words{"--kernel", "neighbours"})["kernel"], "neighbours");
    expectRefused(Words{"run"} + words() + Words{"--kernel", "other"}, "no other.json");
}

TEST_F(RunFolder, OptionsThatTheJsonSaysAreRefused) {
    expectRefused(Words{"run"} + words() + Words{"--block", "64"}, "does not take --block");
    expectRefused(Words{"run"} + words() + Words{"--shared", "64"}, "does not take --shared");
    expectRefused(Words{"run"} + words() + Words{"--arg", "i32:1"},
                  "neighbours takes 5 arguments, 2 of which are Triton's own, 4 given");
    expectRefused(Words{"run"} + words() + Words{"--size", "test"}, "--size");
}

TEST_F(Run, ASchedulerIsOfSimulatedGpus) {
    expectRefused({"run", "VA", "--gpu", "cuda:0", "--scheduler", "lrr"}, "run --gpu cuda:0 does not take --scheduler");
    expectRefused({"run", write("nothing.ptx", kNothing), "--gpu", "cuda:0", "--scheduler", "lrr"},
                  "run --gpu cuda:0 does not take --scheduler");
}

TEST_F(Run, RefusesEveryBrokenFile) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(kTests / "ptx" / "broken")) {
        if (entry.path().extension() != ".ptx") continue;
        expectNothingLeft({entry.path().string()}, entry.path().filename().string() + ":");
        ++count;
    }
    EXPECT_GE(count, 40u);
}

TEST_F(Run, RefusesAnUnsupportedInstruction) {
    const std::string ptx = kHeader + ".visible .entry k()\n{\n    .reg .b32 %r<9>;\n    mma.sync %r1, %r2;\n}\n";
    expectNothingLeft({write("mma.ptx", ptx)}, "mma.ptx:7:5: ");
}

TEST_F(Run, RefusesAnUnknownOrUnchosenKernel) {
    expectNothingLeft(vectorAdd(64, 32) + Words{"--kernel", "vsub"}, "has no kernel vsub: choose from vadd");
    const std::string several = (kTests / "ptx" / "fixtures" / "clang" / "vector_add.sm_35.ptx").string();
    expectNothingLeft({several}, "choose one with --kernel");
}

TEST_F(Run, RefusesArgumentsThatDoNotFit) {
    const Words words = {write("vadd.ptx", kVectorAdd), "--arg", "f32[4]", "--arg", "f32[4]"};
    expectNothingLeft(words, "vadd takes 4 arguments, 2 given");
    expectNothingLeft(words + Words{"--arg", "f32[4]", "--arg", "u32:4", "--arg", "u32:4"},
                      "vadd takes 4 arguments, 5 given");
    expectNothingLeft(words + Words{"--arg", "f32[4]", "--arg", "u64:4"},
                      "parameter 3 of vadd is .u32, 4 bytes, not 8");
    expectNothingLeft(words + Words{"--arg", "f32[4]", "--arg", "f32[4]"},
                      "parameter 3 of vadd is .u32, not a pointer");
    expectNothingLeft(words + Words{"--arg", "u32:4", "--arg", "u32:4"}, "parameter 2 of vadd is .u64, 8 bytes, not 4");
    for (const auto& [argument, part] : std::map<std::string, std::string>{
             {"5", "TYPE:VALUE"},
             {"", "needs a value"},
             {"i33:5", "unknown type 'i33'"},
             {"f16:1", "unknown type 'f16'"},
             {"i8:128", "does not fit i8"},
             {"u8:-1", "not a whole number"},
             {"u32:4294967296", "does not fit u32"},
             {"i32:", "not a whole number"},
             {"i32:5x", "not a whole number"},
             {"i64:9223372036854775808", "not a whole number of 64 bits"},
             {"f32:one", "'one' is not a number"},
             {"f32:", "is not a number"},
             {"f32[0]", "above 0"},
             {"f32[-1]", "above 0"},
             {"f32[]", "above 0"},
             {"f32[4", "']' is missing"},
             {"f32[4]zero", "'=' expected"},
             {"f32[4]=", "unknown content"},
             {"f32[4]=ones", "unknown content 'ones'"},
             {"f32[4]=random:", "not a seed"},
             {"f32[4]=random:x", "not a seed"},
             {"f32[4]=file:", "no such file"},
             {"f32[4]=file:/nonexistent/x", "no such file"},
             {"f32[99999999999999]", "the GPU's memory holds 1610612736 bytes"},
             {"u8[18446744073709551616]", "above 0"},
         })
        expectNothingLeft({file("vadd.ptx"), "--arg", argument}, part);
}

TEST_F(Run, RefusesBadExtents) {
    const Words words = {
        write("vadd.ptx", kVectorAdd), "--arg", "f32[64]", "--arg", "f32[64]", "--arg", "f32[64]", "--arg", "u32:64"};
    for (const std::string option : {"--grid", "--block"})
        for (const std::string extent : {"0", "-1", "8x0", "one", "1x2x3x4", "1x", "x1", "1.5", "4294967296", " 1"})
            expectNothingLeft(words + Words{option, extent}, option + " " + extent + ": write one to three numbers");
    expectNothingLeft(words + Words{"--grid", "4294967295x4294967295x4294967295"}, "too many");
    expectNothingLeft(words + Words{"--block", "1025"}, "a block of 1025 threads is too large: at most 1024");
    expectNothingLeft(words + Words{"--block", "32x32x2"}, "a block of 2048 threads is too large");
    expectNothingLeft(words + Words{"--block", "2147483648x2147483648x4"}, "too many");
    expectNothingLeft(words + Words{"--shared", "49153"}, "bytes of shared memory a block are too many: at most 49152");
    expectNothingLeft(words + Words{"--shared", "lots"}, "--shared");
    expectNothingLeft(words + Words{"--shared", "-1"}, "--shared");
}

TEST_F(Run, RefusesBadGpus) {
    const Words words = vectorAdd(64, 32);
    expectNothingLeft(words + Words{"--gpu", "sim:gtx48"}, "did you mean gtx480?");
    expectNothingLeft(words + Words{"--gpu", "/nonexistent/gpu.json"}, "no such file");
    expectNothingLeft(words + Words{"--set", "l1.wayz=4"}, "unknown key l1.wayz (did you mean l1.ways?)");
    expectNothingLeft(words + Words{"--set", "l1.ways=many"}, "l1.ways = many: must be an integer");
    expectNothingLeft(words + Words{"--set", "l1.ways=5"}, "is not a multiple of l1.lineBytes x l1.ways");
    expectNothingLeft(words + Words{"--set", "l1.ways"}, "must be KEY=VALUE");
    expectNothingLeft(words + Words{"--set", "l2.hitLatency=100000"}, "dram.latency");
    expectNothingLeft(words + Words{"--scheduler", "fifo"}, "unknown scheduler 'fifo': choose one of lrr, gto");
}

TEST_F(Run, RefusesBadOutputs) {
    const Words words = vectorAdd(64, 32);
    for (const char* dump : {"0", "x=y", "=y", "0=", "0x=y"})
        expectNothingLeft(words + Words{"--dump", dump}, "write N=FILE");
    expectNothingLeft(words + Words{"--dump", ""}, "needs a value");
    expectNothingLeft(words + Words{"--dump", "4=" + file("d")}, "there are only 4 arguments, counted from 0");
    expectNothingLeft(words + Words{"--dump", "3=" + file("d")}, "argument 3 is not a buffer");
    // An output that can be written is not, where another cannot.
    const Words good = words + Words{"--dump", "0=" + file("good")};
    expectNothingLeft(good + Words{"--dump", "2=/nonexistent/d"}, "/nonexistent/d: cannot be written");
    expectNothingLeft(good + Words{"--dump", "2=" + directory_.path().string()}, "is a directory");
    for (const std::string option : {"--json", "--timeline"}) {
        expectRefused(Words{"run"} + good + Words{option, "/nonexistent/o"}, "/nonexistent/o: cannot be written");
        expectRefused(Words{"run"} + good + Words{option, directory_.path().string()}, "is a directory");
        EXPECT_FALSE(fs::exists(file("good")));
    }
    expectNothingLeft(words + Words{"--frobnicate"}, "unknown option --frobnicate");
    expectNothingLeft(words + Words{"extra"}, "unexpected argument extra");
}

TEST_F(Run, AnIllegalAddressNamesThePlace) {
    // 37 elements: the second block's thread 5 is the first without one.
    const Words words = {write("vadd.ptx", kVectorAdd),
                         "--grid",
                         "2",
                         "--block",
                         "32",
                         "--arg",
                         "f32[37]",
                         "--arg",
                         "f32[64]",
                         "--arg",
                         "f32[64]",
                         "--arg",
                         "u32:64",
                         "--dump",
                         "2=" + file("c")};
    const std::string line = std::to_string(lineOf(kVectorAdd, "ld.global.f32 %f1"));
    expectNothingLeft(words, "illegal address: kernel vadd, PTX line " + line +
                                 " (ld.global.f32 %f1, [%rd5]), block (1,0,0), thread (5,0,0), address 0x");
}

TEST_F(Run, AMisalignedAddressNamesThePlace) {
    const std::string ptx = kHeader + R"(
.visible .entry odd(.param .u64 p)
{
    .reg .u32 %r<2>;
    .reg .u64 %rd<2>;
    ld.param.u64 %rd1, [p];
    ld.global.u32 %r1, [%rd1+2];
    ret;
}
)";
    const std::string line = std::to_string(lineOf(ptx, "ld.global.u32"));
    expectNothingLeft({write("odd.ptx", ptx), "--arg", "u32[4]"},
                      "misaligned address: kernel odd, PTX line " + line +
                          " (ld.global.u32 %r1, [%rd1+2]), block (0,0,0), thread (0,0,0), address 0x");
}

TEST_F(Run, ABarrierThatCannotCompleteIsAnError) {
    // The first warp waits for 64 threads; the second leaves.
    const std::string ptx = kHeader + R"(
.visible .entry stuck()
{
    .reg .pred %p;
    .reg .u32 %r<2>;
    mov.u32 %r1, %tid.x;
    setp.ge.u32 %p, %r1, 32;
    @%p bra DONE;
    bar.sync 1, 64;
DONE:
    ret;
}
)";
    expectNothingLeft({write("stuck.ptx", ptx), "--block", "64"},
                      "barrier that can never complete: kernel stuck, PTX line " +
                          std::to_string(lineOf(ptx, "bar.sync")) +
                          ", block (0,0,0), thread (0,0,0): 1 of the block's 2 warps wait");
}

TEST_F(Run, AKernelThatGoesRoundInCirclesIsAnError) {
    const std::string ptx = kHeader + ".visible .entry spin()\n{\nAGAIN:\n    bra AGAIN;\n}\n";
    expectNothingLeft({write("spin.ptx", ptx), "--block", "32"}, "no progress: kernel spin, PTX line 7");
}

TEST_F(Run, TooManyCyclesAreAnError) {
    expectNothingLeft(vectorAdd(1024, 64) + Words{"--max-cycles", "100"}, "kernel vadd did not end within 100 cycles");
    expectNothingLeft(vectorAdd(1024, 64) + Words{"--max-cycles", "soon"}, "--max-cycles");
    const json plain = done(vectorAdd(1024, 64)), limited = done(vectorAdd(1024, 64) + Words{"--max-cycles", "100000"});
    EXPECT_EQ(plain["cycles"], limited["cycles"]);
}

}  // namespace
}  // namespace bulkhead::cli
