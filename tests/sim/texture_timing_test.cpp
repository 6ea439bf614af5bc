// What texture fetches and surface accesses cost, and that they are the same for any number of host threads.

#include <gtest/gtest.h>

#include "harness.h"

namespace bulkhead::sim {
namespace {

using test::Harness;
using test::kernelText;
using test::repeat;

constexpr std::uint32_t kSide = 64;

/// A square of floats in tiles, as texture 1 and surface 2.
VirtualAddress addImage(Harness& h) {
    Image image;
    image.format = {TexelFormat::Kind::real, 4, 1};
    image.dimensions = 2;
    image.chooseTiles();
    Image::Level level;
    level.width = level.height = kSide;
    const VirtualAddress at = h.buffer(image.place(level, 0));
    image.place(level, at);
    image.levels = {level};
    ImageTable& images = h.gpu.memory(h.context).space().images;
    images.textures[1] = {image, {}};
    images.surfaces[2] = image;
    return at;
}

Counters countersOf(const std::string& body, const Harness::Shape& shape, bool linear = false) {
    Harness h("gtx1080");
    addImage(h);
    h.gpu.memory(h.context).space().images.textures[1].sampler.linear = linear;
    const LaunchId launch = h.run(kernelText(body), shape, {1, 2, h.buffer(4096)});
    EXPECT_FALSE(h.gpu.record(launch).error) << h.gpu.record(launch).error->what();
    return h.gpu.counters(launch);
}

/// %f1, %f2: coordinates in the middle of the texel (lane % 8, lane / 8), a tile of 8 x 4 texels.
const std::string kTile =
    "mov.u32 %r1, %tid.x; and.b32 %r2, %r1, 7; shr.u32 %r3, %r1, 3; cvt.rn.f32.u32 %f1, %r2; cvt.rn.f32.u32 %f2, %r3;"
    "add.f32 %f1, %f1, 0f3F000000; add.f32 %f2, %f2, 0f3F000000;\n";
const std::string kFetch = "tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n";

TEST(TextureTiming, ATileIsOneLine) {
    EXPECT_EQ(countersOf(kTile + kFetch, {{}, {32}}).l1Misses, 1u);
    // Moved by half a texel to the right, each lane's filter takes its own texel and the next: a column of the next
    // tile.
    EXPECT_EQ(countersOf(kTile + "add.f32 %f1, %f1, 0f3F000000;" + kFetch, {{}, {32}}, true).l1Misses, 2u);
    EXPECT_EQ(
        countersOf(kTile + "add.f32 %f1, %f1, 0f3F000000; add.f32 %f2, %f2, 0f3F000000;" + kFetch, {{}, {32}}, true)
            .l1Misses,
        4u);
}

TEST(TextureTiming, AFetchTakesLongerThanALoad) {
    // Each fetch waits for the one before: of its result, which is 0, comes the next coordinate.
    const std::string dependent = "tex.2d.v4.f32.f32 {%f1, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];\n";
    Harness h("gtx1080");
    addImage(h);
    const auto cycles = [&](int fetches) {
        return static_cast<double>(
            h.cycles(kernelText("mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000;" + repeat(fetches, dependent)),
                     {{}, {1}}, {1, 2, 0}));
    };
    cycles(1);  // brings the texel to L2
    const double each = (cycles(40) - cycles(20)) / 20;
    EXPECT_NEAR(each, static_cast<double>(h.gpu.profile().l1.hitLatency) + 60, 3);
}

struct Ran {
    Cycles cycles;
    std::vector<std::uint64_t> counters;
    std::vector<float> texels;
    bool operator==(const Ran&) const = default;
};

Ran racing(unsigned threads) {
    Machine::Options options;
    options.threads = threads;
    Harness h("gtx1080", {}, options);
    const VirtualAddress at = addImage(h);
    h.gpu.memory(h.context).space().images.textures[1].sampler.linear = true;
    // All blocks filter the same texels and write to them, 12 times over.
    const std::string round = R"(
        tex.2d.v4.f32.f32 {%f3, %f4, %f5, %f6}, [%rd1, {%f1, %f2}];
        suld.b.2d.b32.clamp %r8, [%rd2, {%r6, %r7}]; mov.b32 %f7, %r8;
        add.f32 %f3, %f3, %f7; mov.u32 %r9, %ctaid.x; cvt.rn.f32.u32 %f8, %r9; add.f32 %f3, %f3, %f8;
        mov.b32 %r8, %f3; sust.b.2d.b32.zero [%rd2, {%r6, %r7}], %r8; add.f32 %f1, %f1, 0f3FA00000;
)";
    const std::string body = kTile + "shl.b32 %r6, %r2, 2; mov.u32 %r7, %r3;\n" + repeat(12, round);
    const LaunchId launch = h.run(kernelText(body), {{40}, {64}}, {1, 2, 0});
    EXPECT_FALSE(h.gpu.record(launch).error);
    Ran ran;
    ran.cycles = h.gpu.record(launch).ended - h.gpu.record(launch).started;
    Counters counters = h.gpu.counters(launch);
    counters.each([&](std::string_view, std::uint64_t value) { ran.counters.push_back(value); });
    const float* texels = h.data<float>(at, kSide * kSide);
    ran.texels.assign(texels, texels + kSide * kSide);
    return ran;
}

TEST(TextureTiming, RacesEndTheSameForAnyNumberOfThreads) {
    const Ran one = racing(1);
    EXPECT_EQ(racing(2), one);
    EXPECT_EQ(racing(3), one);
}

}  // namespace
}  // namespace bulkhead::sim
