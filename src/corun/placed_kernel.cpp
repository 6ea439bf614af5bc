#include "corun/placed_kernel.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/host_memory.h"

namespace bulkhead::corun {
namespace {

// Words of the device's Places.
constexpr std::size_t kWanted = 0, kPerSm = 1, kTaken = 2, kCount = 3, kHeader = 4;

}  // namespace

void expectBytes(Bytes bytes) {
    // Of all that is on the GPU there are lists or copies here.
    if (bytes > hostMemory()) throw Error("{} bytes of memory: this machine has {}", bytes, hostMemory());
}

PlacedKernel::PlacedKernel(gpu::Context& context, unsigned sms, gpu::Kernel kernel, Layout layout)
    : kernel_(std::move(kernel)), layout_(std::move(layout)), sms_(sms) {
    if (layout_.blocks == 0 || layout_.warps == 0 || layout_.warps > 32)
        throw Error("{}: {} blocks of {} warps: both must be positive, and warps at most 32", kernel_.name(),
                    layout_.blocks, layout_.warps);
    const auto fit = static_cast<unsigned>(kernel_.blocksPerSm(layout_.warps * 32));
    if (layout_.sms.empty()) {
        grid_ = layout_.blocks;
        perSm_ = layout_.blocks;
    } else {
        const auto chosen = static_cast<unsigned>(layout_.sms.size());
        for (const unsigned sm : layout_.sms)
            if (sm >= sms) throw Error("no SM {}: the GPU has {}, counted from 0", sm, sms);
        perSm_ = (layout_.blocks + chosen - 1) / chosen;
        if (perSm_ > fit)
            throw Error("{}: {} blocks of {} warps do not fit on {} SMs, which hold {} each", kernel_.name(),
                        layout_.blocks, layout_.warps, chosen, fit);
        grid_ = static_cast<unsigned>(context.info().sms) * fit;
    }
    places_ = context.array<std::uint32_t>(kHeader + 2 * std::size_t{sms});
    logs_ = context.array<BlockLog>(grid_);
}

void PlacedKernel::reset() {
    std::vector<std::uint32_t> words(places_.size(), 0);
    words[kWanted] = layout_.blocks;
    words[kPerSm] = perSm_;
    words[kCount] = sms_;
    const std::size_t allowed = kHeader + sms_;
    if (layout_.sms.empty()) std::fill(words.begin() + static_cast<std::ptrdiff_t>(allowed), words.end(), 1);
    for (const unsigned sm : layout_.sms) words[allowed + sm] = 1;
    places_.upload(words);
    logs_.upload(std::vector<BlockLog>(logs_.size()));
}

bool PlacedKernel::placed() const {
    std::uint32_t taken = 0;
    places_.buffer().copyOut(&taken, sizeof taken, kTaken * sizeof taken);
    return taken >= layout_.blocks;
}

std::vector<BlockLog> PlacedKernel::logs() const {
    std::vector<BlockLog> logs = logs_.download();
    std::erase_if(logs, [](const BlockLog& log) { return log.claimed == 0; });
    return logs;
}

std::vector<unsigned> smsOf(const std::vector<BlockLog>& logs) {
    std::set<unsigned> all;
    for (const BlockLog& log : logs) all.insert(log.sm);
    return {all.begin(), all.end()};
}

bool disjoint(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
    return std::none_of(a.begin(), a.end(), [&](unsigned sm) { return std::find(b.begin(), b.end(), sm) != b.end(); });
}

}  // namespace bulkhead::corun
