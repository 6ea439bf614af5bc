// What the example policies of docs/extending.md do, once they are in the tables. docs.extending builds it with them.

#include <gtest/gtest.h>

#include <vector>

#include "sim/harness.h"
#include "sim/mem/cache_tags.h"
#include "sim/mem/dram_channel.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

constexpr Harness::Shape kOneThread{{1}, {1}};

std::string load(int offset) {
    return "ld.global.u32 %r1, [%rd1+" + std::to_string(offset) + "]; add.s32 %r2, %r1, %r2;\n";
}

TEST(Extended, MruKeepsMostOfALoopOverOneLineTooMany) {
    // 16 KB, 4 ways, 32 sets; linear index: lines 4 KB apart share a set. Of five lines in turn LRU keeps none for the
    // next round; MRU, from the fifth line on, replaces the line that was just read, so that three of five reads hit at
    // least.
    std::string round;
    for (int i = 0; i < 5; ++i) round += load(4096 * i);
    Harness h("gtx480", {"l1.setHash=linear", "l1.replacement=mru"});
    const LaunchId launch = h.run(kernelText(repeat(20, round)), kOneThread, {h.buffer(1_MiB)});
    EXPECT_GE(h.gpu.counters(launch).l1Hits, 19u * 3);
}

TEST(Extended, LcfsOpensABankForItsYoungestRequest) {
    const arch::DeviceProfile profile = test::profileWith("gtx480", {"dram.scheduler=lcfs"});
    SimShared shared(profile);
    Simulation sim(shared);
    const auto channel = makeDramChannel(sim, 0);
    struct Slice {
        void serve(RequestId request) { served.push_back(request); }
        std::vector<RequestId> served;
    } slice;
    struct Steps {
        void step(std::uint32_t) { channel.step(); }
        DramChannel& channel;
    } steps{*channel};
    sim.onEvent<&Slice::serve>(EventKind::dramDone, slice);
    sim.onEvent<&Steps::step>(EventKind::channelStep, steps);
    std::vector<RequestId> requests;
    for (std::uint64_t row = 0; row < 3; ++row) {
        requests.push_back(sim.requests.take());
        Request& request = sim.requests[requests.back()];
        request.kind = RequestKind::fill;
        request.row = row;
        request.bytes = 64;
        channel->enqueue(requests.back());
    }
    for (; slice.served.size() < 3; sim.advanceTo(sim.nextEvent())) sim.handleEvents();
    EXPECT_EQ(slice.served, (std::vector<RequestId>{requests[2], requests[1], requests[0]}));
}

TEST(Extended, PreviousLineTurnsABackwardStreamIntoHits) {
    std::string body;
    for (int i = 9; i >= 0; --i) body += load(128 * i) + repeat(1000, "add.s32 %r3, %r3, 1;\n");
    Harness h("gtx480", {"l1.prefetch=previous-line"});
    const LaunchId launch = h.run(kernelText(body), kOneThread, {h.buffer(1_MiB) + 4096});
    EXPECT_EQ(h.gpu.counters(launch).l1Misses, 1u);
    EXPECT_EQ(h.gpu.counters(launch).l1PrefetchesUseful, 9u);
}

}  // namespace
}  // namespace bulkhead::sim
