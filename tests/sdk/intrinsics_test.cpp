// Intrinsics of our headers on a simulated GPU against arithmetic of the host.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/random.h"
#include "gpu/gpu.h"
#include "intrinsic_kernels.ptx.h"

namespace bulkhead {
namespace {

class Intrinsics : public ::testing::Test {
  protected:
    gpu::Gpu gpu = gpu::Gpu::open("sim:gtx1080");
    gpu::Module module = gpu.context().load(kIntrinsicKernelsPtx);

    template <class... Arguments>
    void launch(const char* kernel, unsigned blocks, unsigned threads, const Arguments&... arguments) {
        gpu::Stream stream = gpu.context().createStream();
        module.kernel(kernel).launch(stream, {blocks}, {threads}, 0, arguments...);
        stream.synchronize();
    }
};

unsigned reversed(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; ++i) r |= (x >> i & 1U) << (31 - i);
    return r;
}

TEST_F(Intrinsics, IntegersAgreeWithTheHost) {
    std::vector<unsigned> x = {0, 1, 0x80000000U, 0xffffffffU, 0x7fffffffU}, y = {0, 0xffffffffU, 2, 0xffffffffU, 3};
    Random random(3);
    for (int i = 0; i < 123; ++i) {
        x.push_back(static_cast<unsigned>(random.next() >> (i % 40)));
        y.push_back(static_cast<unsigned>(random.next() >> (i % 33)));
    }
    const auto n = static_cast<int>(x.size());
    auto dx = gpu.context().array(x), dy = gpu.context().array(y), out = gpu.context().array<unsigned>(12 * x.size());
    launch("integers", 1, 128, dx, dy, out, n);
    const std::vector<unsigned> got = out.download();
    for (std::size_t i = 0; i < x.size(); ++i) {
        const unsigned a = x[i], b = y[i];
        const auto signedA = static_cast<std::int32_t>(a), signedB = static_cast<std::int32_t>(b);
        const auto bytes = static_cast<std::uint64_t>(b) << 32 | a;
        const auto byte = [&](int k) { return static_cast<unsigned>(bytes >> (8 * k) & 0xff); };
        const auto low24 = [](std::int32_t v) { return static_cast<std::int64_t>(v) << 40 >> 40; };
        const unsigned expected[12] = {
            static_cast<unsigned>(std::popcount(a)),
            static_cast<unsigned>(std::countl_zero(a)),
            reversed(a),
            a == 0 ? 0 : static_cast<unsigned>(std::countr_zero(a)) + 1,
            static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32),
            static_cast<unsigned>(static_cast<std::int64_t>(signedA) * signedB >> 32),
            byte(2) << 24 | byte(5) << 16 | byte(0) << 8 | byte(1),
            static_cast<unsigned>(bytes << 13 >> 32),
            static_cast<unsigned>(low24(signedA) * low24(signedB)),
            static_cast<unsigned>((static_cast<std::uint64_t>(a) + b) / 2),
            static_cast<unsigned>(std::max(signedA, signedB)) - std::min(a, b),
            static_cast<unsigned>(std::countl_zero(static_cast<std::uint64_t>(a) << 20 | b))};
        for (std::size_t k = 0; k < 12; ++k)
            EXPECT_EQ(got[12 * i + k], expected[k]) << "column " << k << " of " << a << ", " << b;
    }
}

TEST_F(Intrinsics, AtomicsReturnTheOldValueAndLeaveTheNew) {
    auto words = gpu.context().array<int>({10, 20, 30, 40, 50, 0x77, 0x07, 0x0f, 0, 3, 0, 1, 5, 0});
    auto longs = gpu.context().array<unsigned long long>({1, 2, 7});
    auto reals = gpu.context().array<float>({1, 1.5F});
    auto doubles = gpu.context().array(std::vector<double>{2});
    launch("atomics", 1, 32, words, longs, reals, doubles);
    EXPECT_EQ(words.download(), (std::vector<int>{15, 13, 9, -3, 100, 0x07, 0xf7, 0xf0,
                                                  10 + 20 + 30 + 40 + 50 + 0x77 + 0x07 + 0x0f, 0, 9, 2, 5, 3}));
    EXPECT_EQ(longs.download(), (std::vector<unsigned long long>{1 + (1ULL << 40), 1ULL << 63, 1ULL << 33}));
    EXPECT_EQ(reals.download(), (std::vector<float>{1.25F, 2.5F}));
    EXPECT_EQ(doubles.download(), (std::vector<double>{2.125}));
}

TEST_F(Intrinsics, LanesExchangeAndVote) {
    std::vector<int> in(32);
    for (int i = 0; i < 32; ++i) in[i] = (i * 37 + 11) % 64 - 20;
    auto din = gpu.context().array(in), out = gpu.context().array<int>(16 * 32);
    launch("warps", 1, 32, din, out);
    const std::vector<int> got = out.download();
    unsigned multiples = 0;
    int total = 0, largest = in[0], totalOfMultiples = 0, rank = 0;
    for (int i = 0; i < 32; ++i) {
        total += in[i];
        largest = std::max(largest, in[i]);
        if (in[i] % 3 != 0) continue;
        multiples |= 1U << i;
        totalOfMultiples += in[i];
    }
    for (int i = 0; i < 32; ++i) {
        unsigned same = 0;
        for (int k = 0; k < 32; ++k) same |= (in[k] % 4 == in[i] % 4 ? 1U : 0U) << k;
        int scanned = 0, least = in[i & ~7];
        for (int k = i & ~7; k <= i; ++k) scanned += in[k];
        for (int k = i & ~7; k < (i & ~7) + 8; ++k) least = std::min(least, in[k]);
        const bool multiple = in[i] % 3 == 0;
        const int expected[16] = {in[5],
                                  i < 3 ? in[i] : in[i - 3],
                                  i % 8 > 4 ? in[i] : in[i + 3],
                                  in[i ^ 9],
                                  static_cast<int>(multiples),
                                  3,
                                  static_cast<int>(same),
                                  total,
                                  in[7],
                                  in[i ^ 1],
                                  largest,
                                  scanned,
                                  scanned - in[i],
                                  least,
                                  multiple ? rank++ : -1,
                                  multiple ? totalOfMultiples : -1};
        for (int k = 0; k < 16; ++k) EXPECT_EQ(got[16 * i + k], expected[k]) << "column " << k << " of lane " << i;
    }
}

/// The value of a half by its definition.
double valueOfHalf(unsigned bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double mantissa = bits & 1023;
    const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

TEST_F(Intrinsics, BarriersShowWhatOtherThreadsWrote) {
    constexpr int n = 160;
    auto in = gpu.context().array(std::vector<int>{41, 43}), out = gpu.context().array<int>(4 * n);
    launch("barriers", 1, n, in, out);
    const std::vector<int> got = out.download();
    for (int i = 0; i < n; ++i) {
        ASSERT_EQ(got[i], 41) << "thread " << i;
        ASSERT_EQ(got[n + i], 43) << "thread " << i;
        ASSERT_EQ(got[2 * n + i], n / 2) << "thread " << i;
        ASSERT_EQ(got[3 * n + i], 2) << "thread " << i;  // one of them is 5, not all are before the last
    }
}

TEST_F(Intrinsics, EveryHalfSurvivesAndSumsRoundToTheNearest) {
    auto values = gpu.context().array<float>(65536);
    auto back = gpu.context().array<unsigned short>(65536), sums = gpu.context().array<unsigned short>(65536);
    launch("halves", 256, 256, values, back, sums);
    const auto v = values.download();
    const auto b = back.download(), s = sums.download();
    for (unsigned i = 0; i < 65536; ++i) {
        if ((i >> 10 & 31) == 31) continue;  // infinities and NaN
        ASSERT_EQ(v[i], static_cast<float>(valueOfHalf(i)));
        ASSERT_EQ(b[i], i);
        const double sum = valueOfHalf(i) + valueOfHalf(i ^ 0x155);
        if (std::fabs(sum) >= 65520) {
            ASSERT_EQ(s[i] & 0x7fff, 0x7c00);
            continue;
        }
        // No half is nearer than the one that came out.
        const double error = std::fabs(valueOfHalf(s[i]) - sum);
        for (const int step : {-1, 1}) {
            const unsigned other = s[i] + static_cast<unsigned>(step);
            if ((other & 0x7fff) <= 0x7bff && (s[i] & 0x7fff) != 0) {
                ASSERT_LE(error, std::fabs(valueOfHalf(other) - sum));
            }
        }
    }
}

}  // namespace
}  // namespace bulkhead
