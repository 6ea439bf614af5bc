#include "runner.h"

#include "base/error.h"
#include "evaluator.h"

namespace bulkhead::differential {

namespace {

gpu::Gpu open(const std::string& name, const std::vector<std::string>& settings) {
    gpu::SimulationOptions options;
    options.settings = settings;
    // One block uses one SM, and each of the others costs time at every launch.
    if (gpu::capabilitiesOf(name).settable) options.settings.push_back("sm.count=2");
    return gpu::Gpu::open(name, options);
}

}  // namespace

Runner::Runner(const std::string& gpu, const std::vector<std::string>& settings)
    : gpu_(open(gpu, settings)), stream_(gpu_.context().createStream()) {}

std::vector<Outcome> Runner::run(std::span<const Program> programs) {
    try {
        return runTogether(programs);
    } catch (const Error& error) {
        if (!isAlive()) throw Error("the GPU does nothing more after this: {}", error.what());
        if (programs.size() == 1) return {{{}, error.what()}};
    }
    // One of them failed, and all with it.
    const std::size_t half = programs.size() / 2;
    std::vector<Outcome> outcomes = run(programs.first(half));
    for (Outcome& outcome : run(programs.subspan(half))) outcomes.push_back(std::move(outcome));
    return outcomes;
}

bool Runner::isAlive() {
    Program nothing;
    nothing.input.resize(kDataBytes);
    try {
        return runTogether({&nothing, 1})[0].output == nothing.input;
    } catch (const Error&) {
        return false;
    }
}

std::vector<Outcome> Runner::runTogether(std::span<const Program> programs) {
    const std::size_t bytes = programs.size() * kDataBytes;
    std::string text = modulePrologue();
    Data data;
    data.reserve(bytes);
    for (std::size_t i = 0; i < programs.size(); ++i) {
        text += textOf(programs[i], "k" + std::to_string(i));
        data.insert(data.end(), programs[i].input.begin(), programs[i].input.end());
    }
    gpu::Context& context = gpu_.context();
    if (input_.bytes() < bytes) {
        input_ = context.allocate(bytes);
        output_ = context.allocate(bytes);
    }
    tell("compiled");
    const gpu::Module module = context.load(text.c_str());
    tell("ran");
    input_.copyIn(data.data(), bytes);
    output_.copyIn(data.data(), bytes);
    for (std::size_t i = 0; i < programs.size(); ++i)
        module.kernel("k" + std::to_string(i))
            .launch(stream_, {1}, {kThreads}, 0, input_.address() + i * kDataBytes, output_.address() + i * kDataBytes);
    stream_.synchronize();
    output_.copyOut(data.data(), bytes);
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < programs.size(); ++i) {
        const auto begin = data.begin() + static_cast<std::ptrdiff_t>(i * kDataBytes);
        outcomes.push_back({Data(begin, begin + kDataBytes), ""});
    }
    return outcomes;
}

std::string differenceOf(const Data& expected, const Outcome& outcome) {
    return outcome.failure.empty() ? firstDifference(expected, outcome.output) : outcome.failure;
}

}  // namespace bulkhead::differential
