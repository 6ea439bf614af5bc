#include "cli/run.h"

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/verbs.h"

namespace bulkhead::cli {
namespace {

bool isFile(const std::string& what) {
    std::error_code unknown;
    return what.ends_with(".ptx") || what.find('/') != std::string::npos || std::filesystem::exists(what, unknown);
}

}  // namespace

Action setUpRun(CLI::App& app) {
    const auto o = std::make_shared<RunOptions>();
    app.add_option("WORKLOAD|FILE", o->what, "a workload (see bulkhead workloads) or a PTX file")->required();
    app.add_option("--gpu", o->gpu, "sim:NAME or sim:FILE.json; for a workload also cuda:N")->capture_default_str();
    app.add_option("--scheduler", o->scheduler, "warp scheduler of a simulated GPU")->capture_default_str();
    app.add_option("--set", o->settings, "change a figure of a simulated GPU: KEY=VALUE")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--json", o->json, "write JSON to FILE, or to standard output if it is -")->type_name("FILE");

    const char* const ofWorkloads = "Of a workload";
    const char* const ofKernels = "Of a PTX file";
    app.add_option("--size", o->size, "test, default or paper")->capture_default_str()->group(ofWorkloads);
    app.add_option("--seed", o->seed, "what its input is made from")->capture_default_str()->group(ofWorkloads);
    app.add_option("--kernel", o->kernel, "which kernel, if there are several")->group(ofKernels);
    app.add_option("--grid", o->grid, "blocks: X, XxY or XxYxZ")->capture_default_str()->group(ofKernels);
    app.add_option("--block", o->block, "threads of a block, likewise")->capture_default_str()->group(ofKernels);
    app.add_option("--arg", o->arguments,
                   "an argument, in order: i32:5, f32:1.5, or a buffer, f32[1024]=random:7, =zero, =iota, =file:PATH")
        ->allow_extra_args(false)
        ->group(ofKernels);
    app.add_option("--shared", o->shared, "bytes of dynamic shared memory")->group(ofKernels);
    app.add_option("--max-cycles", o->maxCycles, "end the kernel with an error after that many cycles")
        ->check(positive())
        ->group(ofKernels);
    app.add_option("--dump", o->dumps, "write a buffer back: N=FILE, arguments counted from 0")
        ->type_name("N=FILE")
        ->allow_extra_args(false)
        ->group(ofKernels);
    app.add_option("--timeline", o->timeline, "write a trace for Perfetto or chrome://tracing")
        ->type_name("FILE")
        ->group(ofKernels);

    return [o, &app, ofWorkloads, ofKernels] {
        const bool file = isFile(o->what);
        for (const CLI::Option* option : app.get_options())
            if (option->count() > 0 && option->get_group() == (file ? ofWorkloads : ofKernels))
                throw Error("run: {} is {}, which has no {}", o->what, file ? "a file" : "no file but a workload",
                            option->get_name());
        return file ? runKernel(*o) : runWorkload(*o);
    };
}

}  // namespace bulkhead::cli
