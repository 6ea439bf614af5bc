#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

using cli::expectRefused;
using cli::Outcome;
using cli::run;

std::string fixture(const std::string& name) {
    return BULKHEAD_CUDART_FIXTURES "/" + name;
}

std::string executable(const TemporaryDirectory& folder, const std::string& name, const std::string& bytes) {
    const std::string file = (folder / name).string();
    writeFile(file, bytes);
    ::chmod(file.c_str(), 0755);
    return file;
}

TEST(Exec, RefusesAProgramThatIsNotThere) {
    expectRefused({"exec", "--", "./no/such/program"}, "./no/such/program: no such program");
    expectRefused({"exec", "--", "no-such-program"}, "not found in PATH");
}

TEST(Exec, RefusesAFileThatMayNotRun) {
    TemporaryDirectory folder;
    const std::string file = (folder / "notes").string();
    writeFile(file, "text");
    expectRefused({"exec", "--", file}, "is not executable");
    expectRefused({"exec", "--", folder.path().string()}, "is a directory");
}

TEST(Exec, RefusesAFileThatIsNoProgram) {
    TemporaryDirectory folder;
    expectRefused({"exec", "--", executable(folder, "p", "text")}, "neither a program nor a script");
    expectRefused({"exec", "--",
                   executable(folder, "q",
                              "\x7f"
                              "ELF")},
                  "neither a program nor a script");
}

TEST(Exec, RefusesAProgramOfAnotherMachine) {
    TemporaryDirectory folder;
    std::string bytes = readFile(fixture("nvidia_runtime_inside"));
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    const bool isArm = header.e_machine == EM_AARCH64;
    header.e_machine = isArm ? EM_X86_64 : EM_AARCH64;
    std::memcpy(bytes.data(), &header, sizeof header);
    expectRefused({"exec", "--", executable(folder, "other", bytes)},
                  isArm ? "is built for x86-64, but this machine is aarch64"
                        : "is built for aarch64, but this machine is x86-64");
}

TEST(Exec, SurvivesADamagedProgram) {
    TemporaryDirectory folder;
    const std::string bytes = readFile(fixture("needs_cublas"));
    for (std::size_t size : {sizeof(Elf64_Ehdr), std::size_t{500}, bytes.size() / 2}) {
        const Outcome o = run({"exec", "--", executable(folder, "cut", bytes.substr(0, size))});
        EXPECT_NE(o.exitCode, 0);
    }
}

TEST(Exec, RefusesAnotherRuntimesSoname) {
    expectRefused({"exec", "--", fixture("needs_cudart_11")}, "needs libcudart.so.11");
}

TEST(Exec, RefusesNvidiasLibrariesOfKernels) {
    expectRefused({"exec", "--", fixture("needs_cublas")}, "needs libcublas.so.13, which has machine code");
}

TEST(Exec, RefusesNvidiasRuntimeLinkedInAndSaysWhatToDo) {
    expectRefused({"exec", "--", fixture("nvidia_runtime_inside")}, "link it with nvcc -cudart shared");
}

TEST(Exec, LeadsARuntimeInsideAProgramToItsOwn) {
    const Outcome alone = run({"exec", "--quiet", "--", "env", "-u", "LD_PRELOAD", fixture("runtime_inside")});
    EXPECT_EQ(alone.out, "its own: -1 devices, error 999, version -1\n");
    const Outcome led = run({"exec", "--quiet", "--", fixture("runtime_inside")});
    EXPECT_EQ(led.out, "1 devices, error 0, version 13000\n") << led.err;
    EXPECT_EQ(led.err, "");
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("runtime12_inside")}).out, "1 devices, error 0, version 12090\n");
}

TEST(Exec, RunsAProgramOfCuda12) {
    const Outcome o = run({"exec", "--gpu", "sim:h200", "--quiet", "--", fixture("cuda12_program")});
    EXPECT_EQ(o.out,
              "runtime 12090\n"
              "properties: 132 SMs, compute 9.0, 132 by attribute, clock as the attribute, nothing beyond\n"
              "properties of CUDA 11: 132 SMs, nothing beyond\n"
              "chosen: 0\n"
              "kernel: 0 3 6 9 12 15 18 21\n"
              "pointer: device memory, nothing beyond\n"
              "advice: 0, prefetch: 0 and 0\n"
              "texture: the memory it was made of, nothing beyond\n"
              "capture: active, 1 dependency, 1 after the update\n"
              "graph: 3 nodes, 2 edges, 1 dependency, 1 dependent, 1 edge after one was removed\n"
              "entry point: cuCtxCreate is that of CUDA 12\n"
              "limits by the names of CUDA 3: equal\n")
        << o.err;
    EXPECT_EQ(o.exitCode, 0);
    EXPECT_EQ(o.err, "");
}

TEST(Exec, RefusesOptionsThatNoGpuTakes) {
    expectRefused({"exec", "--gpu", "sim:nothing", "--", "true"}, "nothing");
    expectRefused({"exec", "--gpu", "cuda:0", "--", "true"}, "on a real GPU, start the program itself");
    expectRefused({"exec", "--gpu", "sim:gtx1080,cuda:0", "--", "true"}, "--gpu cuda:0: exec is for simulated GPUs");
    expectRefused({"exec", "--gpu", "sim:gtx1080,sim:nothing", "--", "true"}, "nothing");
    expectRefused({"exec", "--set", "l1.ways", "--", "true"}, "l1.ways");
    expectRefused({"exec", "--scheduler", "none-such", "--", "true"}, "none-such");
    expectRefused({"exec", "--stats", "/no/such/folder/file", "--", "true"}, "/no/such/folder");
    expectRefused({"exec", "--sample", "--scheduler", "ccws", "--", "true"},
                  "--sample: the scheduler must be gto or lrr");
    expectRefused({"exec", "--functional", "--scheduler", "ccws", "--", "true"},
                  "--functional: leaves out warp schedulers");
    expectRefused({"exec", "--functional", "--sample", "--", "true"}, "--sample and --functional: give one, not both");
}

TEST(Exec, PassesTheExitCodeThrough) {
    TemporaryDirectory folder;
    EXPECT_EQ(run({"exec", "--", executable(folder, "seven", "#!/bin/sh\nexit 7\n")}).exitCode, 7);
}

TEST(Exec, PassesArgumentsAsTheyAre) {
    TemporaryDirectory folder;
    const std::string script = executable(folder, "show", "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
    EXPECT_EQ(run({"exec", "--", script, "--gpu", "a b", "--"}).out, "<--gpu><a b><-->");
}

TEST(Exec, SaysNothingOfAProgramThatUsesNoGpu) {
    const Outcome o = run({"exec", "--", "true"});
    EXPECT_EQ(o.exitCode, 0);
    EXPECT_EQ(o.out + o.err, "");
}

/// Programs that nvcc has compiled.
class NvccProgram : public testing::Test {
  protected:
    void SetUp() override {
#ifndef BULKHEAD_HAS_NVCC
        GTEST_SKIP() << "nvcc of CUDA 13 is not installed";
#endif
    }
    static std::string expected(const std::string& name) {
        return readFile(BULKHEAD_SOURCE_DIR "/tests/cudart/programs/" + name + ".expected");
    }
};

TEST_F(NvccProgram, BehavesAsOnARealGpu) {
    const Outcome o = run({"exec", "--quiet", "--", fixture("behaviour")});
    EXPECT_EQ(o.out, expected("behaviour"));
    EXPECT_EQ(o.err, "");
    EXPECT_EQ(o.exitCode, 0);
}

TEST_F(NvccProgram, BehavesTheSameLinkedStatically) {
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("behaviour_static")}).out, expected("behaviour"));
}

TEST_F(NvccProgram, BehavesTheSameWithAStreamAThread) {
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("behaviour_per_thread")}).out, expected("behaviour"));
}

TEST_F(NvccProgram, CapturesLaunchesAndChangesGraphs) {
    const Outcome o = run({"exec", "--quiet", "--", fixture("graphs")});
    EXPECT_EQ(o.out, expected("graphs")) << o.err;
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("graphs_per_thread")}).out, expected("graphs"));
}

TEST_F(NvccProgram, BehavesTheSameWithoutTime) {
    for (const char* program : {"behaviour", "graphs", "errors"}) {
        const Outcome o = run({"exec", "--quiet", "--functional", "--", fixture(program)});
        EXPECT_EQ(o.out, expected(program)) << o.err;
    }
}

TEST_F(NvccProgram, FailsAsOnARealGpu) {
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("errors")}).out, expected("errors"));
}

TEST_F(NvccProgram, SetsConditionsOfGraphs) {
    const std::string said =
        "node: cudaSuccess\nlaunches: cudaSuccess\ninstance: cudaSuccess\n"
        "run: cudaSuccess, 5 rounds so far\nrun: cudaSuccess, 11 rounds so far\n";
    const Outcome o = run({"exec", "--quiet", "--", fixture("conditional")});
    EXPECT_EQ(o.out, said) << o.err;
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("conditional_nvidia_static")}).out, said);
}

TEST_F(NvccProgram, UsesMemoryOfAPeer) {
    const Outcome o = run({"exec", "--quiet", "--gpu", "sim:gtx1080,sim:gtx1080", "--", fixture("peers")});
    EXPECT_EQ(o.out,
              "devices: 2, peers: 1\n"
              "own: cudaErrorPeerAccessUnsupported\n"
              "enabled: cudaSuccess\n"
              "again: cudaErrorPeerAccessAlreadyEnabled\n"
              "kernel: cudaSuccess\n"
              "numbers: 2 3 4 5\n"
              "first is on device 0\n"
              "disabled: cudaSuccess\n"
              "again: cudaErrorPeerAccessNotEnabled\n")
        << o.err;
}

TEST_F(NvccProgram, OfMachineCodeAloneIsExplained) {
    const Outcome o = run({"exec", "--quiet", "--", fixture("image_sass")});
    EXPECT_EQ(o.out, "launch: cudaErrorNoKernelImageForDevice\nattributes: cudaErrorNoKernelImageForDevice\n");
    EXPECT_NE(o.err.find("sm_75"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("code=compute_"), std::string::npos) << o.err;
}

TEST_F(NvccProgram, BehavesTheSameWithNvidiasRuntimeInside) {
    const Outcome o = run({"exec", "--quiet", "--", fixture("behaviour_nvidia_static")});
    EXPECT_EQ(o.out, expected("behaviour"));
    EXPECT_EQ(o.err, "");
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("behaviour_nvidia_static_per_thread")}).out, expected("behaviour"));
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("graphs_nvidia_static")}).out, expected("graphs"));
    EXPECT_EQ(run({"exec", "--quiet", "--", fixture("errors_nvidia_static")}).out, expected("errors"));
}

TEST_F(NvccProgram, WithNvidiasRuntimeInsideIsStartedByScripts) {
    TemporaryDirectory folder;
    const std::string script =
        executable(folder, "script", "#!/bin/sh\necho begin\n" + fixture("behaviour_nvidia_static") + "\n");
    EXPECT_EQ(run({"exec", "--quiet", "--", script}).out, "begin\n" + expected("behaviour"));
}

TEST_F(NvccProgram, HasLibrariesWithNvidiasRuntimeInside) {
    const Outcome o = run({"exec", "--quiet", "--", fixture("triple")});
    EXPECT_EQ(o.out, "cudaSuccess: 3 42\n") << o.err;
    EXPECT_EQ(o.err, "");
}

TEST_F(NvccProgram, WithNvidiasRuntimeInsideAndNoSymbolsIsRefused) {
    expectRefused({"exec", "--", fixture("image_nvidia_stripped")}, "is linked statically with NVIDIA's CUDA runtime");
}

TEST_F(NvccProgram, EndsWithItsOwnExitCodeAndATableOfItsKernels) {
    const Outcome o = run({"exec", "--gpu", "sim:gtx480", "--scheduler", "lrr", "--", fixture("behaviour"), "5"});
    EXPECT_EQ(o.exitCode, 5);
    EXPECT_NE(o.err.find("kernels on sim:gtx480, lrr scheduler"), std::string::npos) << o.err;
    EXPECT_NE(o.err.find("scale<float>"), std::string::npos) << o.err;
    EXPECT_EQ(o.out, expected("behaviour"));
}

TEST_F(NvccProgram, IsObservedAndTraced) {
    TemporaryDirectory folder;
    const std::string why = (folder / "why.json").string(), trace = (folder / "trace.json").string();
    const Outcome o = run({"exec", "--quiet", "--observe", why, "--timeline", trace, "--", fixture("behaviour")});
    ASSERT_EQ(o.exitCode, 0) << o.err;
    EXPECT_EQ(o.out, expected("behaviour"));
    const nlohmann::json results = parseJson(readFile(why), why)["results"];
    ASSERT_EQ(results.size(), 7u);
    EXPECT_FALSE(results[5]["rows"].empty());  // cost by line
    EXPECT_NE(readFile(trace).find("scale"), std::string::npos);
}

TEST_F(NvccProgram, CountsItsKernelsAndCopies) {
    TemporaryDirectory folder;
    const std::string file = (folder / "stats.json").string();
    ASSERT_EQ(run({"exec", "--quiet", "--stats", file, "--", fixture("behaviour")}).exitCode, 0);
    const nlohmann::json stats = parseJson(readFile(file), file);
    ASSERT_EQ(stats.at("devices").size(), 1u);
    EXPECT_EQ(stats["command"], nlohmann::json{fixture("behaviour")});
    const nlohmann::json& device = stats["devices"][0];
    EXPECT_EQ(device["gpu"], "sim:gtx1080");
    // From the source: 7 launches of scale<int> (managed, two streams, three threads, configured), 1 of scale<float>.
    std::map<std::string, int> launches;
    for (const nlohmann::json& kernel : device["kernels"]) {
        launches[kernel["signature"]] = kernel["launches"];
        EXPECT_GT(kernel["cycles"], 0);
        EXPECT_EQ(kernel["failed"], 0);
    }
    EXPECT_EQ(launches["void scale<int>(int*, int, int)"], 7);
    EXPECT_EQ(launches["void scale<float>(float*, float, int)"], 1);
    EXPECT_EQ(launches["show()"], 1);
    // scale: 4000 bytes in; sum: 20 into symbols and 32 in; streams: 32768 in; box: 96 in; threads: 3 times 4 in.
    EXPECT_EQ(stats["transfers"]["host_to_device"]["bytes"], 4000 + 20 + 32 + 32768 + 96 + 12);
}

TEST_F(NvccProgram, SlowsDownOnASlowerGpu) {
    TemporaryDirectory folder;
    const std::string file = (folder / "stats.json").string();
    const auto cyclesOf = [&](const std::string& setting) {
        EXPECT_EQ(run({"exec", "--quiet", "--stats", file, "--set", setting, "--", fixture("behaviour")}).exitCode, 0);
        std::int64_t sum = 0;
        const nlohmann::json stats = parseJson(readFile(file), file);
        for (const nlohmann::json& kernel : stats["devices"][0]["kernels"]) sum += kernel["cycles"].get<std::int64_t>();
        return sum;
    };
    EXPECT_LT(cyclesOf("dram.latency=500"), cyclesOf("dram.latency=1500"));
}

}  // namespace
}  // namespace bulkhead
