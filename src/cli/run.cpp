#include "cli/run.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/common_options.h"
#include "cli/verbs.h"
#include "gpu/capabilities.h"

namespace bulkhead::cli {
namespace {

bool isFile(const std::string& what) {
    std::error_code unknown;
    return what.ends_with(".ptx") || what.find('/') != std::string::npos || std::filesystem::exists(what, unknown);
}

/// Launches what Triton has left in a folder of its cache.
void readFolder(const CommandLine& line, RunOptions& options) {
    refuseGiven(line, {"--block", "--shared"},
                fmt::format("run {} (its JSON file says how it is launched)", options.what));
    options.triton = readTritonFolder(options.what, options.kernel);
    options.what = options.triton.file;
    options.kernel = options.triton.name;
    options.block = std::to_string(options.triton.threads);
    options.shared = options.triton.sharedBytes;
}

}  // namespace

Action setUpRun(CommandLine line) {
    const auto o = std::make_shared<RunOptions>();
    line.option("WORKLOAD|FILE|FOLDER", o->what,
                "workload (bulkhead workloads lists them), PTX file, or folder of Triton's cache")
        .required();
    line.option("--gpu", o->gpu, "GPU to use: sim:NAME, sim:FILE.json or cuda:N").typeName("GPU").showDefault();
    line.option("--scheduler", o->scheduler, "warp scheduler of the simulated GPU").typeName("NAME").showDefault();
    addGpgpusimOption(line, o->gpgpusim);
    addSettings(line, o->settings);
    addThreadsOption(line);
    addTimingOptions(line, o->timing);
    addJsonOption(line, o->json);
    addMetricsOption(line, o->metrics);
    addWatchOptions(line, o->timeline, o->observe);

    const char* const ofWorkloads = "Options for a workload";
    const char* const ofKernels = "Options for a PTX file";
    line.option("--size", o->size, "size of its input: test, default or paper")
        .typeName("SIZE")
        .showDefault()
        .group(ofWorkloads);
    line.option("--seed", o->seed, "seed of its input").showDefault().group(ofWorkloads);
    line.option("--kernel", o->kernel, "kernel to run, if the file has several").typeName("NAME").group(ofKernels);
    line.option("--grid", o->grid, "blocks of the grid: X, XxY or XxYxZ")
        .typeName("SHAPE")
        .showDefault()
        .group(ofKernels);
    line.option("--block", o->block, "threads per block: X, XxY or XxYxZ")
        .typeName("SHAPE")
        .showDefault()
        .group(ofKernels);
    line.option("--arg", o->arguments,
                "next argument: i32:5, f32:1.5, or buffer f32[1024]=random:7, =zero, =iota or =file:PATH")
        .typeName("VALUE")
        .oneValue()
        .group(ofKernels);
    line.option("--shared", o->shared, "size of dynamic shared memory").typeName("BYTES").group(ofKernels);
    line.option("--max-cycles", o->maxCycles, "fail if the kernel takes more than N cycles")
        .check(positive())
        .group(ofKernels);
    line.option("--dump", o->dumps, "write buffer argument N (counted from 0) to FILE afterwards")
        .typeName("N=FILE")
        .oneValue()
        .group(ofKernels);

    return [o, line, ofWorkloads, ofKernels] {
        o->gpu = gpgpusimVariant(o->gpu, o->gpgpusim);
        const bool file = isFile(o->what);
        for (const std::string& option : line.givenOf(file ? ofWorkloads : ofKernels))
            throw Error("run: {} is a {}: {} is for a {}", o->what, file ? "PTX file" : "workload", option,
                        file ? "workload" : "PTX file");
        std::error_code unknown;
        if (file && std::filesystem::is_directory(o->what, unknown)) readFolder(line, *o);
        o->timing.check(o->gpu, o->scheduler, o->timeline, o->observe, o->metrics);
        const bool simulated = gpu::capabilitiesOf(o->gpu).settable;
        if (!simulated)
            refuseGiven(line, {"--scheduler", "--timeline", "--observe"}, fmt::format("run --gpu {}", o->gpu));
        if (!file) return runWorkload(*o);
        if (simulated) return runKernel(*o);
        refuseGiven(line, {"--set", "--max-cycles"}, fmt::format("run FILE --gpu {}", o->gpu));
        return runRealKernel(*o);
    };
}

}  // namespace bulkhead::cli
