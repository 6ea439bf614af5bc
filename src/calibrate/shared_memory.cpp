#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibrate/measurement.h"

namespace bulkhead::calibrate {
namespace {

constexpr unsigned kTableBytes = 32768;

/// Chains of pointers to themselves. Lanes of the odd half lie `odd` bytes behind, all of them `stride` apart.
ProbeText sharedChains(unsigned chains, std::uint32_t length, std::uint32_t stride, std::uint32_t odd) {
    ProbeText text;
    text.module = fmt::format(".shared .align 1024 .b8 table[{}];\n", kTableBytes);
    text.setup = fmt::format(
        "mov.u32 %r8, table;\nmad.lo.u32 %r8, %lane, {}, %r8;\nand.b32 %r9, %lane, 1;\nmad.lo.u32 %r8, %r9, {}, %r8;\n"
        "st.volatile.shared.u32 [%r8], %r8;\nbar.sync 0;\n",
        stride, odd);
    addChains(text, chains, length, "ld.volatile.shared.u32", 'r');
    return text;
}

double sharedLatency(Bench& b, std::uint32_t stride, std::uint32_t odd = 0) {
    ProbeShape shape;
    shape.repeats = b.effort(2u, 32u);
    return b.cyclesEach([&](std::uint32_t n) { return sharedChains(1, n, stride, odd); }, 8, shape);
}

}  // namespace

void measureSharedMemory(Session& s) {
    Bench& b = s.bench();
    const double alone = sharedLatency(b, 0);
    s.found("shared.latency", alone);

    // At the smallest distance at which all lanes meet in one bank, an access takes longest.
    std::vector<std::pair<std::uint32_t, double>> byStride;
    for (std::uint32_t stride = 4; stride <= kTableBytes / 32; stride *= 2)
        byStride.emplace_back(stride, sharedLatency(b, stride));
    double longest = 0;
    for (const auto& [stride, cycles] : byStride) longest = std::max(longest, cycles);
    const double each = (longest - alone) / 31;
    if (each < 0.3) {
        s.undecided("bank conflicts: none was seen");
    } else {
        const auto row = std::find_if(byStride.begin(), byStride.end(), [&](const auto& at) {
                             return at.second > longest - 2 * each;
                         })->first;
        // Two words of a bank, as far apart as a row and a little more.
        std::uint32_t width = 4;
        while (width < row && sharedLatency(b, 0, row + width) > alone + each / 2) width *= 2;
        s.found("shared.bankBytes", width, fmt::format("{} lanes of one bank from {} B apart", 32, row));
        s.found("shared.banks", static_cast<double>(row) / width);
        s.foundOther("a further pass of a bank conflict", each, "cycles");
        s.foundOther("shared memory, 2-way conflict", sharedLatency(b, row / 16), "cycles");
        s.foundOther("shared memory, 32-way conflict", longest, "cycles");
    }

    ProbeShape all;
    all.threads = b.threadsPerBlock();
    const double interval = b.cyclesEachOfMany([&](std::uint32_t n) { return sharedChains(4, n, 4, 0); }, 8, all) / 4;
    s.found("op.memory.interval", std::max(1.0, interval * s.known("unit.ldst")),
            fmt::format("{:.4g} B a cycle of shared memory", 128 / interval));
}

}  // namespace bulkhead::calibrate
