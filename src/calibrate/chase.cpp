#include "calibrate/chase.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/random.h"

namespace bulkhead::calibrate {

namespace {
constexpr std::uint32_t kSteps = 16;  ///< of a body
}

Chase::Chase(Bench& bench, gpu::Buffer memory, std::uint64_t base, std::string load)
    : bench_(bench),
      memory_(std::move(memory)),
      base_(base),
      bytes_(memory_.bytes() - (base - memory_.address())),
      load_(std::move(load)) {}

void Chase::ring(const std::vector<std::uint64_t>& offsets) {
    const std::uint64_t most = *std::max_element(offsets.begin(), offsets.end());
    if (most + sizeof(std::uint64_t) > bytes_)
        throw Error("a ring of {} bytes does not fit memory of {}", most, bytes_);
    std::vector<std::uint8_t> image(most + sizeof(std::uint64_t), 0);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        const std::uint64_t next = base_ + offsets[i + 1 < offsets.size() ? i + 1 : 0];
        std::memcpy(&image[offsets[i]], &next, sizeof next);
    }
    // Every ring has a pointer at the base.
    memory_.copyIn(image.data(), image.size(), base_ - memory_.address());
    length_ = offsets.size();
}

ProbeText Chase::text(std::uint32_t steps) const {
    ProbeText text;
    text.setup = "mov.u64 %d0, %region;\n";
    for (std::uint32_t i = 0; i < steps; ++i) text.body += load_ + " %d0, [%d0];\n";
    text.awaited = await64("%d0");
    return text;
}

double Chase::latency() {
    ProbeShape shape;
    shape.threads = 1;
    shape.region = base_;
    // Whole rounds of the ring in either length, so that both pass the same pointers.
    shape.repeats =
        static_cast<std::uint32_t>(std::max<std::size_t>(bench_.effort(4u, 32u), (length_ + kSteps - 1) / kSteps));
    return bench_.cyclesEach([&](std::uint32_t steps) { return text(steps); }, kSteps, shape);
}

double Chase::perStep() {
    ProbeShape shape;
    shape.threads = 1;
    shape.region = base_;
    shape.repeats = static_cast<std::uint32_t>((length_ + kSteps - 1) / kSteps);
    return bench_.cycles(text(kSteps), shape) / (static_cast<double>(kSteps) * shape.repeats);
}

std::vector<std::uint64_t> sequentialRing(std::size_t count, Bytes stride) {
    std::vector<std::uint64_t> offsets(count);
    for (std::size_t i = 0; i < count; ++i) offsets[i] = i * stride;
    return offsets;
}

std::vector<std::uint64_t> shuffledRing(std::size_t count, Bytes stride, std::uint64_t seed) {
    std::vector<std::uint64_t> offsets = sequentialRing(count, stride);
    Random random(seed);
    for (std::size_t i = count; i > 1; --i) std::swap(offsets[i - 1], offsets[random.below(i)]);
    return offsets;
}

std::pair<gpu::Buffer, std::uint64_t> alignedMemory(Bench& bench, Bytes bytes, Bytes alignment) {
    gpu::Buffer memory = bench.freshMemory(bytes + alignment);
    const std::uint64_t base = (memory.address() + alignment - 1) / alignment * alignment;
    return {std::move(memory), base};
}

std::size_t largestFitting(std::size_t least, std::size_t most, const std::function<bool(std::size_t)>& fits) {
    if (!fits(least)) return 0;
    std::size_t good = least, bad = most + 1;
    while (2 * good < bad && good < most) {
        if (!fits(2 * good)) {
            bad = 2 * good;
            break;
        }
        good *= 2;
    }
    while (bad - good > 1) {
        const std::size_t middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return good;
}

std::optional<Associativity> findAssociativity(Chase& chase, const CacheTimes& times, Bytes cacheBytes,
                                               Bytes lineBytes) {
    constexpr std::size_t kMostWays = 128;
    const auto heldAt = [&](Bytes stride) {
        const std::size_t most = std::min<std::size_t>(kMostWays, chase.bytes() / stride);
        return largestFitting(1, most, [&](std::size_t lines) {
            chase.ring(sequentialRing(lines, stride));
            return times.holds(chase.perStep());
        });
    };
    const std::size_t lines = cacheBytes / lineBytes;
    for (std::size_t sets = std::bit_ceil(lines); sets >= 1; sets /= 2) {
        if (lines % sets != 0) continue;
        const std::size_t ways = lines / sets;
        if (ways > kMostWays) break;
        if (ways < 2 || (ways + 1) * (sets + 1) * lineBytes > chase.bytes()) continue;
        // A set that holds as many lines as the cache's size asks for, and no fewer at twice the distance.
        if (heldAt(sets * lineBytes) == ways && heldAt(2 * sets * lineBytes) == ways) return Associativity{ways, false};
        if (heldAt((sets + 1) * lineBytes) == ways) return Associativity{ways, true};
    }
    return std::nullopt;
}

}  // namespace bulkhead::calibrate
