#include "corun/passes.h"

#include <algorithm>

#include "aggressors.ptx.h"
#include "base/error.h"
#include "corun/placed_kernel.h"
#include "victims.ptx.h"

namespace bulkhead::corun {
namespace {

constexpr Bytes kFlushFactor = 8;              // how often the cache, that is read to empty it
constexpr std::size_t kColdPerStray = 100000;  // accesses of a cold pass, for each that may have been a hit

}  // namespace

Passes timePasses(gpu::Context& context, const Ring& ring, unsigned warps) {
    if (warps == 0 || warps > 32 || ring.size() < warps)
        throw Error("{} lines cannot be shared by {} warps", ring.size(), warps);
    constexpr unsigned kThreads = 256;
    const auto count = static_cast<unsigned>(ring.size()), perWarp = count / warps;
    gpu::Stream stream = context.createStream();
    gpu::Array<std::uint64_t> order = context.array(ring);
    context.load(kAggressorsPtx)
        .kernel("linkRing")
        .launch(stream, {(count + kThreads - 1) / kThreads}, {kThreads}, 0, order, count);
    std::vector<std::uint64_t> starts;
    for (unsigned w = 0; w < warps; ++w) starts.push_back(ring[std::size_t{w} * perWarp]);
    gpu::Array<std::uint64_t> first = context.array(starts);
    gpu::Array<std::uint32_t> cold = context.array<std::uint32_t>(std::size_t{perWarp} * warps);
    gpu::Array<std::uint32_t> warm = context.array<std::uint32_t>(cold.size());
    // Linking has written the lines: what it left in the cache must go before the first pass can be cold.
    gpu::Buffer other = context.allocate(kFlushFactor * context.info().l2Bytes);
    other.fill(0, stream);
    gpu::Array<std::uint32_t> sum = context.array<std::uint32_t>(2);
    const gpu::Module victims = context.load(kVictimsPtx);
    PlacedKernel flush(context, static_cast<unsigned>(context.info().sms), victims.kernel("readAll"), {1, 32, {}});
    flush.launch(stream, std::tuple(other.address(), std::uint64_t{other.bytes() / 16}, 1u), sum);
    victims.kernel("timePasses").launch(stream, {1}, {warps * 32}, 0, first, perWarp, cold, warm);
    stream.synchronize();
    const std::vector<std::uint32_t> c = cold.download(), w = warm.download();
    return {{c.begin(), c.end()}, {w.begin(), w.end()}};
}

double hitThreshold(const Passes& passes) {
    std::vector<double> cold = passes.cold;
    const auto edge = cold.begin() + static_cast<std::ptrdiff_t>(cold.size() / kColdPerStray);
    std::nth_element(cold.begin(), edge, cold.end());
    return *edge;
}

double hitShare(const std::vector<double>& times, double threshold) {
    const auto hits = std::count_if(times.begin(), times.end(), [&](double t) { return t < threshold; });
    return static_cast<double>(hits) / static_cast<double>(times.size());
}

}  // namespace bulkhead::corun
