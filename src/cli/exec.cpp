#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "arch/device_profile.h"
#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "base/split.h"
#include "cli/common_options.h"
#include "cli/elf_file.h"
#include "cli/verbs.h"
#include "gate/gate.h"
#include "gpu/capabilities.h"
#include "gpu/gpu.h"
#include "metrics/output.h"
#include "sim/sm/warp_scheduler.h"
#include "static_runtime/static_runtime.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kMostProgramBytes = 4_GiB;

struct ExecOptions {
    std::string gpu = "sim:gtx1080", scheduler = "gto", stats, timed, metrics, timeline, observe, bounds = "relaxed";
    std::vector<std::string> settings, command;
    TimingOptions timing;
    bool quiet = false, gpgpusim = false;
};

/// The file that the system would start: a name without a slash is looked for along PATH.
fs::path findProgram(const std::string& name) {
    if (name.find('/') != std::string::npos) return name;
    for (std::string rest = environment("PATH"); !rest.empty();) {
        const std::size_t colon = rest.find(':');
        const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
        std::error_code unknown;
        if (fs::is_regular_file(candidate, unknown) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
        rest = colon == std::string::npos ? std::string() : rest.substr(colon + 1);
    }
    throw Error("{}: not found in PATH; write ./{} for a program in this folder", name, name);
}

/// Where NVIDIA's libraries that hold GPU code of their own are needed, nothing can run: it is not PTX.
bool holdsNvidiaCode(const std::string& library) {
    static constexpr std::array<const char*, 8> kinds = {"libcublas",   "libcudnn",    "libcufft", "libcurand",
                                                         "libcusolver", "libcusparse", "libnccl",  "libnpp"};
    for (const char* kind : kinds)
        if (library.starts_with(kind)) return true;
    return false;
}

void checkLibrary(const std::string& program, const std::string& library) {
    if (library.starts_with("libcudart.so.") && library != "libcudart.so.13" && library != "libcudart.so.12")
        throw Error(
            "{}: needs {}, but only libcudart.so.12 and libcudart.so.13 are available: build it with CUDA 12 or 13, or "
            "bulkhead cc",
            program, library);
    if (holdsNvidiaCode(library))
        throw Error("{}: needs {}, which has machine code for NVIDIA GPUs instead of PTX and cannot be simulated",
                    program, library);
}

/// Whether it gets more rights than we have: it is then told nothing by an environment, nor which driver to load.
bool isPrivileged(const fs::path& program) {
    struct stat status = {};
    if (::stat(program.c_str(), &status) != 0) return false;
    return ((status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid()) ||
           ((status.st_mode & S_ISGID) != 0 && status.st_gid != ::getgid()) ||
           (::getuid() != 0 && ::getxattr(program.c_str(), "security.capability", nullptr, 0) >= 0);
}

void expectUnprivileged(const fs::path& program, const std::string& name) {
    if (isPrivileged(program))
        throw Error("{}: is setuid, setgid or has capabilities, so it cannot be run with Bulkhead's driver", name);
}

/// Refuses what could only fail in a less clear way once it runs.
void checkProgram(const fs::path& program) {
    const std::string name = program.string();
    std::error_code unknown;
    if (!fs::exists(program, unknown)) throw Error("{}: no such program", name);
    if (fs::is_directory(program, unknown)) throw Error("{}: is a directory, not a program", name);
    if (::access(program.c_str(), X_OK) != 0) throw Error("{}: is not executable", name);
    const std::string bytes = readFile(program, kMostProgramBytes);
    if (bytes.starts_with("#!")) return;
    const std::optional<ElfFile> elf = ElfFile::read(bytes);
    if (!elf) throw Error("{}: is neither a program nor a script", name);
    expectUnprivileged(program, name);
    if (!elf->is64Bit || elf->machine != ownMachine())
        throw Error("{}: is built for {}{}, but this machine is {}", name, elf->is64Bit ? "" : "32-bit ",
                    machineName(elf->machine), machineName(ownMachine()));
    bool sharedRuntime = false;
    for (const std::string& library : elf->needed) {
        checkLibrary(name, library);
        sharedRuntime |= library.starts_with("libcudart.so");
    }
    // NVIDIA's runtime asks the driver for tables that no document describes, and has the names of all its errors. Ours
    // takes its place by the names of its functions.
    const auto names = [&](const char* text) { return bytes.find(text) != std::string::npos; };
    if (elf->hasDeviceCode && !sharedRuntime && names("cuGetExportTable") &&
        names("cudaErrorLaunchIncompatibleTexturing") && !names(kNvidiaRuntimeSymbols))
        throw Error(
            "{}: is linked statically with NVIDIA's CUDA runtime, and stripped of the symbols by which Bulkhead's "
            "would take its place: keep them (no strip, no -s), or link it with nvcc -cudart shared, or with -L{} "
            "before other -L options",
            name, libraryFolder());
}

void set(const char* name, const std::string& value) {
    if (::setenv(name, value.c_str(), 1) != 0) throw Error("the environment is full");
}

/// Whether it insists on being the first of a program's libraries.
bool isSanitizer(const std::string& library) {
    return library.starts_with("libasan.so");
}

/// Before what is audited already.
void putUpGate(const std::string& folder) {
    const std::string before = environment("LD_AUDIT");
    set("LD_AUDIT", folder + "/" + kGateLibrary + (before.empty() ? "" : ":" + before));
}

/// Frameworks that compile kernels are to load PTX, which our driver runs and walls are put up in, not machine code.
void askForPtx() {
    const fs::path libraries = libraryFolder();
    for (const fs::path& sdk : {libraries / "sdk", libraries / "../sdk"})
        if (const fs::path assembler = sdk / "assembler"; fs::exists(assembler / "bin/ptxas")) {
            set("TRITON_PTXAS_PATH", fs::canonical(assembler / "bin/ptxas").string());
            // Where JAX looks before it looks among its wheels.
            if (environment("CUDA_ROOT").empty()) set("CUDA_ROOT", fs::canonical(assembler).string());
        }
    set("CUPY_COMPILE_WITH_PTX", "1");
}

/// Behind what is preloaded already. A path with a separator of that list in it is left to the search for libraries.
void preloadStaticRuntime(const fs::path& program) {
    const std::optional<ElfFile> elf = ElfFile::read(readFile(program, kMostProgramBytes));
    if (elf && std::any_of(elf->needed.begin(), elf->needed.end(), isSanitizer)) return;
    const std::string before = environment("LD_PRELOAD");
    std::string library = libraryFolder() + "/" + kStaticRuntimeLibrary;
    if (library.find_first_of(" :") != std::string::npos) library = kStaticRuntimeLibrary;
    set("LD_PRELOAD", before.empty() ? library : before + ":" + library);
}

[[noreturn]] void start(const fs::path& program, std::vector<std::string>& words) {
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(program.c_str(), arguments.data());
    throw Error("{}: cannot be started: {}", program.string(), std::generic_category().message(errno));
}

void prepareEnvironment(const ExecOptions& options) {
    set("BULKHEAD_EXEC", "1");
    set("BULKHEAD_GPU", options.gpu);
    set("BULKHEAD_SCHEDULER", options.scheduler);
    set("BULKHEAD_SET", fmt::format("{}", fmt::join(options.settings, " ")));
    set("BULKHEAD_SAMPLE", options.timing.sample ? "1" : "");
    set("BULKHEAD_FUNCTIONAL", options.timing.functional ? "1" : "");
    set("BULKHEAD_STATS", options.stats.empty() ? "" : fs::absolute(options.stats).string());
    set("BULKHEAD_TIMELINE", options.timeline.empty() ? "" : fs::absolute(options.timeline).string());
    set("BULKHEAD_OBSERVE", options.observe.empty() ? "" : fs::absolute(options.observe).string());
    set("BULKHEAD_BOUNDS", options.bounds);
    set("BULKHEAD_SUMMARY", options.quiet ? "0" : "1");
    set("BULKHEAD_PROGRESS", options.quiet ? "0" : "1");
    const metrics::Output counters = metrics::parseOutput(options.metrics, "--metrics");
    set("BULKHEAD_METRICS", counters.file.empty() ? options.metrics : "ncu:" + fs::absolute(counters.file).string());
}

/// On a real GPU: the driver library in front passes everything on, and times what is done.
[[noreturn]] void execTimed(const ExecOptions& options) {
    if (!gpu::capabilitiesOf(options.gpu).sharedByProcesses)
        throw Error("--timed is for real GPUs (cuda:N); on a simulated one, --stats has the time of every kernel");
    expectWritable(options.timed);
    set("BULKHEAD_LIBCUDA", gpu::Gpu::open(options.gpu).driverFile());
    set("BULKHEAD_TIMED", fs::absolute(options.timed).string());
    set("BULKHEAD_EXEC", "1");
    set("BULKHEAD_SUMMARY", "0");
    becomeProgram(options.command);
}

/// Refuses a GPU that cannot be simulated with these settings.
void expectGpu(const std::string& name, const std::vector<std::string>& settings) {
    if (gpu::capabilitiesOf(name).sharedByProcesses)
        throw Error(
            "--gpu {}: exec is for simulated GPUs (sim:NAME); on a real GPU, start the program itself, or give --timed",
            name);
    arch::DeviceProfile profile = arch::findProfile(name);
    arch::applySettings(profile, settings);
}

int exec(const ExecOptions& options) {
    if (!options.timed.empty()) execTimed(options);
    for (const std::string& gpu : split(options.gpu, ',')) expectGpu(gpu, options.settings);
    sim::findScheduler(options.scheduler);
    if (options.bounds != "relaxed" && options.bounds != "strict")
        throw Error("--bounds {}: give relaxed or strict", options.bounds);
    options.timing.check(options.gpu, options.scheduler, options.timeline, options.observe, options.metrics);
    expectOutputs({options.timeline, options.observe});
    for (const std::string& gpu : split(options.gpu, ',')) noteIneffective(gpu, options.settings, options.scheduler);
    if (!options.stats.empty()) expectWritable(options.stats);
    expectOutputs({metrics::parseOutput(options.metrics, "--metrics").file});
    prepareEnvironment(options);
    becomeProgram(options.command);
}

}  // namespace

void expectProgram(const std::string& name) {
    checkProgram(findProgram(name));
}

void becomeProgram(std::vector<std::string> words) {
    const fs::path program = findProgram(words.front());
    checkProgram(program);
    const std::string before = environment("LD_LIBRARY_PATH");
    set("LD_LIBRARY_PATH", libraryFolder() + (before.empty() ? "" : ":" + before));
    preloadStaticRuntime(program);
    putUpGate(libraryFolder());
    askForPtx();
    start(program, words);
}

void becomeProgramAsItIs(std::vector<std::string> words, const std::string& folder) {
    const fs::path program = findProgram(words.front());
    if (!fs::exists(program)) throw Error("{}: no such program", words.front());
    expectUnprivileged(program, words.front());
    const std::string before = environment("LD_LIBRARY_PATH");
    putUpGate(folder);
    // What a program of bulkhead cc needs comes last: NVIDIA's own is as good.
    set("LD_LIBRARY_PATH", folder + (before.empty() ? "" : ":" + before) + ":" + libraryFolder());
    start(program, words);
}

std::string libraryFolder() {
    const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
    for (const fs::path& folder : {program / "lib", program.parent_path() / "lib" / "bulkhead"})
        if (fs::exists(folder / "libcuda.so.1")) return folder.string();
    throw Error("libcuda.so.1 of Bulkhead is neither in {} nor in {}", (program / "lib").string(),
                (program.parent_path() / "lib" / "bulkhead").string());
}

Action setUpExec(CommandLine line) {
    const auto o = std::make_shared<ExecOptions>();
    line.option("PROGRAM", o->command, "CUDA program and its arguments, after --").required();
    addSimulatedGpuOption(line, o->gpu);
    line.option("--scheduler", o->scheduler, "warp scheduler").typeName("NAME").showDefault();
    addGpgpusimOption(line, o->gpgpusim);
    addSettings(line, o->settings);
    addThreadsOption(line);
    addTimingOptions(line, o->timing);
    line.option("--bounds", o->bounds, "reads beside allocations: relaxed warns, strict ends the kernel")
        .typeName("HOW")
        .showDefault();
    line.option("--stats", o->stats, "write counters of every kernel as JSON to FILE").typeName("FILE");
    line.option("--timed", o->timed, "on a real GPU (cuda:N), write the time of its kernels and copies as JSON to FILE")
        .typeName("FILE");
    addMetricsOption(line, o->metrics);
    addWatchOptions(line, o->timeline, o->observe);
    line.flag("--quiet", o->quiet, "print no progress, and no table of kernels at the end");
    return [o] {
        std::vector<std::string> gpus = split(o->gpu, ',');
        for (std::string& gpu : gpus) gpu = gpgpusimVariant(gpu, o->gpgpusim);
        o->gpu = fmt::format("{}", fmt::join(gpus, ","));
        return exec(*o);
    };
}

}  // namespace bulkhead::cli
