#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/phrases.h"
#include "evaluation/cost/memory_kernels.h"
#include "walls/span.h"
#include "workloads/compare.h"

namespace bulkhead::evaluation::cost {
namespace {

/// GB/s of an addition over views of arrays of a context, by a kernel of another one.
template <class ViewOf>
void addRow(Result& result, TimedContext& timed, const char* kernelName, const char* memory, gpu::Context& context,
            const ViewOf& viewOf) {
    const std::vector<float> content = numbers(elementsOf(timed.bench().effort().megabytes));
    const auto a = context.array(content), b = context.array(content), c = context.array<float>(content.size());
    gpu::Kernel kernel = timed.kernel(kernelName);
    const auto blocks = static_cast<unsigned>(content.size() / kThreadsPerBlock);
    const double seconds = timed.time(
        [&] { kernel.launch(timed.stream(), {blocks}, {kThreadsPerBlock}, 0, viewOf(c), viewOf(a), viewOf(b)); });
    std::vector<float> sums(content);
    for (float& x : sums) x += x;
    std::string verdict = "right";
    try {
        workloads::expectEqual(kernelName, sums, c.download());
    } catch (const Error& error) {
        verdict = "wrong";
        timed.bench().fail(error.what());
    }
    result.add({std::string(kernelName), std::string(memory),
                3 * sizeof(float) * 1e-9 * static_cast<double>(content.size()) / seconds, verdict});
}

Span<float> plainSpan(const gpu::Array<float>& array) {
    return {reinterpret_cast<float*>(array.address()), array.size()};
}

}  // namespace

Result measureViews(Bench& bench) {
    constexpr std::size_t kRate = 2;  // the column
    Result result;
    result.title = "Vector addition over views";
    result.columns = {{"view", ""}, {"memory", ""}, {"rate", "GB/s"}, {"result", ""}};
    walls::PartitionContext plain = bench.enclose(0, Around::compute), colored = bench.enclose(0, Around::both);
    TimedContext timed(bench, plain.context());  // views have real addresses: their kernels need no memory wall
    addRow(result, timed, "addPlain", "any", plain.context(), plainSpan);
    switch (bench.walled().coloring()) {
        case walls::Coloring::sides:
            addRow(result, timed, "addOnSide", "sides", colored.context(),
                   [&](const auto& array) { return walls::sideSpan(colored, array); });
            break;
        case walls::Coloring::slices:
            addRow(result, timed, "addOnSlices", "slices", colored.context(),
                   [&](const auto& array) { return walls::sliceSpan(colored, array); });
            break;
        default:
            addRow(result, timed, "addPlain", "pages", colored.context(), plainSpan);
            break;
    }
    const double plainRate = std::get<double>(result.rows.front()[kRate]),
                 viewRate = std::get<double>(result.rows.back()[kRate]);
    const bool right = std::all_of(result.rows.begin(), result.rows.end(),
                                   [](const auto& row) { return row.back() == Value(std::string("right")); });
    result.answer =
        fmt::format("{} GB/s, {} % of what the same kernel reaches without; {}.", brief(viewRate),
                    brief(100 * viewRate / plainRate), right ? "all results are right" : "a result is wrong");
    return result;
}

}  // namespace bulkhead::evaluation::cost
