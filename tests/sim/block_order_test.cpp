#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using namespace test;
using u32 = std::uint32_t;
using Sms = std::vector<u32>;

/// Where the blocks of a launch are, which do not end while blocks are placed.
Sms smsOfBlocks(Harness& h, u32 blocks, u32 threads = 1024) {
    const VirtualAddress to = h.buffer(4 * blocks);
    h.run(kernelText("mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret;\n"
                     "mov.u32 %r2, %ctaid.x; mul.wide.u32 %rd4, %r2, 4; add.u64 %rd4, %rd1, %rd4;\n"
                     "mov.u32 %r3, %smid; st.global.u32 [%rd4], %r3; nanosleep.u32 2000;"),
          {{blocks}, {threads}}, {to});
    const u32* words = h.data<u32>(to, blocks);
    return {words, words + blocks};
}

/// A GPU with the GPCs of the card whose blocks are in results/h200/block-order.json.
Harness measuredCard() {
    std::string ofTpcs;
    for (u32 i = 0; i < 32; ++i) ofTpcs += std::to_string(i % 8) + ",";
    for (u32 i = 0; i < 28; ++i) ofTpcs += std::to_string(1 + i % 7) + ",";
    return Harness("h200", {"cluster.gpcs=" + ofTpcs + "6,7,8,9,10,11"});
}

/// What the card did.
TEST(BlockOrder, IsThatOfACard) {
    Harness h = measuredCard();
    EXPECT_EQ(smsOfBlocks(h, 1), (Sms{124}));
    EXPECT_EQ(smsOfBlocks(h, 3), (Sms{124, 126, 128}));
    EXPECT_EQ(smsOfBlocks(h, 8), (Sms{124, 125, 126, 127, 128, 129, 130, 131}));
    EXPECT_EQ(smsOfBlocks(h, 16), (Sms{124, 125, 126, 127, 128, 129, 130, 131, 14, 0, 2, 4, 6, 8, 10, 12}));
    EXPECT_EQ(smsOfBlocks(h, 33), (Sms{124, 125, 126, 127, 128, 129, 130, 131, 14, 30, 46, 0,  16, 32, 48, 2, 18,
                                       34,  4,   20,  36,  6,   22,  38,  8,   24, 40, 10, 26, 42, 12, 28, 44}));
    const Sms hundred = smsOfBlocks(h, 100);
    EXPECT_EQ(Sms(hundred.begin() + 8, hundred.begin() + 28),
              (Sms{14, 15, 30, 31, 46, 47, 62, 76, 90, 104, 118, 122, 0, 1, 16, 17, 32, 33, 48, 49}));
    EXPECT_EQ(Sms(hundred.end() - 12, hundred.end()), (Sms{12, 13, 28, 29, 44, 45, 60, 74, 88, 102, 116, 120}));
    const Sms all = smsOfBlocks(h, 132);
    EXPECT_EQ(std::set<u32>(all.begin(), all.end()).size(), 132u);
    EXPECT_EQ(Sms(all.begin() + 26, all.begin() + 34), (Sms{0, 1, 16, 17, 32, 33, 48, 49}));
    EXPECT_EQ(smsOfBlocks(h, 100), hundred) << "as in the launch before";
}

TEST(BlockOrder, OfASecondBlockAnSmIsThatOfTheFirst) {
    Harness h = measuredCard();
    const Sms blocks = smsOfBlocks(h, 132 + 16);
    EXPECT_EQ(Sms(blocks.begin(), blocks.begin() + 132), smsOfBlocks(h, 132));
    EXPECT_EQ(Sms(blocks.begin() + 132, blocks.end()), smsOfBlocks(h, 16));
}

TEST(BlockOrder, ABlockGoesWhereThereIsRoom) {
    Harness h("h200");
    const Sms blocks = smsOfBlocks(h, 1000);
    std::map<u32, u32> ofSm;
    for (const u32 sm : blocks) ++ofSm[sm];
    EXPECT_EQ(ofSm.size(), 132u);
    for (const auto& [sm, count] : ofSm) EXPECT_NEAR(count, 1000.0 / 132, 2) << sm;
}

TEST(BlockOrder, GoesOnWhereItWasOnOtherGpus) {
    Harness h("gtx480");
    EXPECT_EQ(smsOfBlocks(h, 4), (Sms{0, 1, 2, 3}));
    EXPECT_EQ(smsOfBlocks(h, 4), (Sms{4, 5, 6, 7}));
}

}  // namespace
}  // namespace bulkhead::sim
