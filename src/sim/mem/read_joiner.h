#pragma once

#include <array>
#include <cstdint>

#include "sim/sim_context.h"

namespace bulkhead::sim {

/// Joins reads that SMs of one GPC send to a slice of L2 for the same sectors of a line: while the first waits to be
/// looked up or for DRAM, and for some cycles after it arrived, its answer is that of others too. An H200 does so in
/// its L2 request coalescer (lrc in Nsight Compute), which lies between the slices and the way to the GPCs.
class ReadJoiner {
  public:
    explicit ReadJoiner(SimContext& sim) : sim_(sim), most_(sim.config.l2.joinedReads) {}

    /// What becomes of a read that has arrived: it is looked up, waits for the answer of another, or has it.
    enum class Arrival : std::uint8_t { first, waits, answered };
    Arrival arrive(RequestId id) {
        if (most_ < 2 || sim_.requests[id].kind != RequestKind::read || sim_.requests[id].sm == kCopyEngine)
            return Arrival::first;
        return join(id);
    }
    struct Answer {
        Cycles leaves = 0;  ///< the slice
        bool crosses = false;
    };
    /// Of the read that one with Arrival::answered joins.
    const Answer& answerTo(RequestId id) { return lookLike(sim_.requests[id]).answer; }
    /// A read is answered. Visits those who wait with it.
    template <class Visit>
    void answer(RequestId id, const Answer& answer, Visit&& visit) {
        if (most_ < 2) return;
        Look& look = lookLike(sim_.requests[id]);
        if (look.first == id) {
            look.first = kNoRequest;
            look.answer = answer;
        }
        for (RequestId with = sim_.requests[id].with; with != kNoRequest;) {
            const RequestId next = sim_.requests[with].with;
            visit(with);
            with = next;
        }
    }

  private:
    static constexpr std::size_t kLooks = 256;  ///< a power of two; of two whose places are the same, the newer one

    /// A read that is looked up, or has been.
    struct Look {
        RequestId first = kNoRequest;  ///< while it is not answered
        std::uint64_t line = ~std::uint64_t{0};
        std::uint32_t set = 0, group = 0, reads = 0;
        std::uint8_t sectors = 0;
        Cycles until = 0;  ///< others may join, at least
        Answer answer;
    };

    Arrival join(RequestId id);
    /// The GPC, of one side of L2.
    std::uint32_t groupOf(const Request& r) const {
        const std::uint32_t sm = r.sm % sim_.config.sm.count;
        return sim_.config.cluster.gpcs[sm] * sim_.config.l2.sides + sim_.config.l2.regionsOfSms[sm].side;
    }
    Look& lookLike(const Request& r) {
        const std::uint64_t key = (r.line / sim_.config.l2.lineBytes) * 31 + groupOf(r);
        return looks_[(key * 0x9e3779b97f4a7c15u) >> 56];
    }

    SimContext& sim_;
    std::uint32_t most_;
    std::array<Look, kLooks> looks_;
};

}  // namespace bulkhead::sim
