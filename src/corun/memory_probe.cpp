#include "corun/memory_probe.h"

namespace bulkhead::corun {

TakenMemory takeAllMemory(gpu::Context context) {
    constexpr Bytes kLargest = 1_GiB, kSmallest = 16_MiB;
    TakenMemory taken;
    std::vector<gpu::Buffer> pieces;
    for (Bytes piece = kLargest; piece >= kSmallest;) {
        try {
            pieces.push_back(context.allocate(piece));
            taken.bytes += piece;
        } catch (const Error& e) {
            taken.refusal = e.what();
            piece /= 2;
        }
    }
    return taken;
}

}  // namespace bulkhead::corun
