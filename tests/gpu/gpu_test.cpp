// The layer over either driver: every test on a simulated GPU, and on a real one where there is one.

#include "gpu/gpu.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "gpu/launch_log.h"

namespace bulkhead::gpu {
namespace {

/// `scale`: x[i] *= factor for i < n, one thread an element; `where`: each block tells its SM; `wild` writes far
/// outside.
const char* const kModule =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .global .align 4 .u32 answer = 42;\n"
    ".visible .entry scale(.param .u64 x, .param .f32 factor, .param .u32 n)\n"
    "{\n.reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %rd<4>;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
    "ld.param.u32 %r5, [n]; setp.ge.u32 %p, %r4, %r5; @%p ret;\n"
    "ld.param.u64 %rd1, [x]; cvta.to.global.u64 %rd1, %rd1; mul.wide.u32 %rd2, %r4, 4; add.u64 %rd3, %rd1, %rd2;\n"
    "ld.param.f32 %f1, [factor]; ld.global.f32 %f2, [%rd3]; mul.f32 %f2, %f2, %f1; st.global.f32 [%rd3], %f2; ret;\n}\n"
    ".visible .entry where(.param .u64 sms)\n"
    "{\n.reg .b32 %r<3>; .reg .b64 %rd<4>;\n"
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %smid; ld.param.u64 %rd1, [sms]; mul.wide.u32 %rd2, %r1, 4;\n"
    "add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret;\n}\n"
    ".visible .entry wild(.param .u64 p)\n{\n.reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    "ld.param.u64 %rd1, [p]; mov.u32 %r1, 1; st.global.u32 [%rd1+1099511627776], %r1; ret;\n}\n";

class OnGpu : public ::testing::TestWithParam<const char*> {
  protected:
    std::unique_ptr<Gpu> gpu;

    void SetUp() override {
        try {
            gpu = std::make_unique<Gpu>(Gpu::open(GetParam()));
        } catch (const Error& e) {
            if (std::string(GetParam()) != "cuda:0") throw;
            GTEST_SKIP() << "no GPU here: " << e.what();
        }
    }
    std::vector<float> counted(std::size_t n) {
        std::vector<float> x(n);
        std::iota(x.begin(), x.end(), 1.0f);
        return x;
    }
    /// Where blocks of a context land, each once, in order.
    static std::vector<std::uint32_t> smsUsed(Context& context) {
        constexpr unsigned kBlocks = 2048;
        Array<std::uint32_t> sms = context.array<std::uint32_t>(kBlocks);
        Kernel where = context.load(kModule).kernel("where");
        Stream stream = context.createStream();
        where.launch(stream, {kBlocks}, {32}, 0, sms);
        stream.synchronize();
        std::vector<std::uint32_t> seen = sms.download();
        std::sort(seen.begin(), seen.end());
        seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
        return seen;
    }
};

TEST_P(OnGpu, OnlyRealOnesHaveAUuid) {
    const std::string uuid = gpu->uuid();
    EXPECT_EQ(uuid.empty(), !gpu->capabilities().sharedByProcesses);
    EXPECT_TRUE(uuid.empty() || (uuid.starts_with("GPU-") && uuid.size() == 36)) << uuid;
    EXPECT_EQ(uuid, Gpu::open(GetParam()).uuid());
}

TEST_P(OnGpu, KernelsSeeArraysAndScalars) {
    Context& context = gpu->context();
    Array<float> x = context.array(counted(1000));
    const Kernel scale = context.load(kModule).kernel("scale");
    Stream stream = context.createStream();
    Kernel(scale).launch(stream, {8}, {128}, 0, x, 3.0f, 1000u);
    stream.synchronize();
    const std::vector<float> result = x.download();
    for (std::size_t i = 0; i < result.size(); ++i) ASSERT_EQ(result[i], 3.0f * static_cast<float>(i + 1));
}

TEST_P(OnGpu, ArgumentsOfTheWrongNumberOrSizeAreRefused) {
    Context& context = gpu->context();
    Array<float> x = context.array<float>(32);
    Kernel scale = context.load(kModule).kernel("scale");
    Stream stream = context.createStream();
    EXPECT_THROW(scale.launch(stream, {1}, {32}, 0, x, 3.0f), Error);
    EXPECT_THROW(scale.launch(stream, {1}, {32}, 0, x, 3.0, 32u), Error);
}

TEST_P(OnGpu, EventsTellTheTimeBetweenThem) {
    Context& context = gpu->context();
    Array<float> x = context.array(counted(1 << 16));
    Kernel scale = context.load(kModule).kernel("scale");
    Stream stream = context.createStream();
    const auto time = [&](int launches) {
        Event start = context.createEvent(), end = context.createEvent();
        start.record(stream);
        for (int i = 0; i < launches; ++i) scale.launch(stream, {512}, {128}, 0, x, 1.0f, 1u << 16);
        end.record(stream);
        end.synchronize();
        return end.secondsSince(start);
    };
    time(1);
    EXPECT_GT(time(1), 0.0);
    EXPECT_GT(time(40), 2 * time(1));
}

TEST_P(OnGpu, FillsAndCopiesTakeTheirTurnInAStream) {
    Context& context = gpu->context();
    Array<float> x = context.array(counted(256)), y = context.array<float>(256);
    Kernel scale = context.load(kModule).kernel("scale");
    Stream stream = context.createStream();
    y.buffer().fill(0xFF, stream);
    y.copyFrom(x, stream);
    scale.launch(stream, {2}, {128}, 0, y, 2.0f, 256u);
    x.copyFrom(y, stream);
    y.buffer().fill(0, stream);
    stream.synchronize();
    EXPECT_EQ(x.download()[255], 512.0f);
    EXPECT_EQ(y.download()[255], 0.0f);
}

TEST_P(OnGpu, AFillIsDoneBeforeAnyStreamGoesOn) {
    Context& context = gpu->context();
    const std::size_t n = 1 << 20;
    Array<float> x = context.array<float>(n), y = context.array(std::vector<float>(n, 3.0f));
    Stream stream = context.createStream();
    x.buffer().fill(0);
    x.copyFrom(y, stream);
    stream.synchronize();
    EXPECT_EQ(x.download()[n - 1], 3.0f);
}

TEST_P(OnGpu, VariablesOfAModuleHaveAnAddress) {
    const Module module = gpu->context().load(kModule);
    const auto [address, bytes] = module.variable("answer");
    EXPECT_NE(address, 0u);
    EXPECT_EQ(bytes, 4u);
    EXPECT_THROW(module.variable("question"), Error);
    EXPECT_THROW(module.kernel("answer"), Error);
}

TEST_P(OnGpu, CopiesOutsideABufferAreRefused) {
    Array<float> x = gpu->context().array<float>(16);
    const std::vector<float> tooMany(17);
    EXPECT_THROW(x.upload(tooMany), Error);
}

TEST_P(OnGpu, ContextsHaveMemoryOfTheirOwn) {
    Context other = gpu->createContext();
    Array<float> x = gpu->context().array(counted(64)), y = other.array(counted(64));
    Kernel scale = other.load(kModule).kernel("scale");
    Stream stream = other.createStream();
    scale.launch(stream, {1}, {64}, 0, y, 5.0f, 64u);
    stream.synchronize();
    EXPECT_EQ(x.download()[63], 64.0f);
    EXPECT_EQ(y.download()[63], 320.0f);
}

TEST_P(OnGpu, AFaultFailsItsContextAlone) {
    if (gpu->capabilities().sharedByProcesses)
        GTEST_SKIP() << "would end the real GPU's context for the tests after it";
    Context other = gpu->createContext();
    Array<float> x = other.array<float>(4);
    Kernel wild = other.load(kModule).kernel("wild");
    Stream stream = other.createStream();
    wild.launch(stream, {1}, {1}, 0, x);
    EXPECT_THROW(stream.synchronize(), Error);
    EXPECT_THROW(other.array<float>(4), Error);
    EXPECT_NO_THROW(gpu->context().array<float>(4));
}

TEST_P(OnGpu, AGreenPairHasNoSmInCommon) {
    const int all = gpu->info().sms;
    auto [first, second] = gpu->createGreenPair(static_cast<unsigned>(all) / 4);
    EXPECT_EQ(first.info().sms + second.info().sms, all);
    const std::vector<std::uint32_t> a = smsUsed(first), b = smsUsed(second);
    std::vector<std::uint32_t> common;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common));
    EXPECT_TRUE(common.empty());
    EXPECT_EQ(static_cast<int>(a.size() + b.size()), all);
}

TEST_P(OnGpu, ObjectsMayOutliveTheirGpu) {
    Array<float> x = gpu->context().array(counted(8));
    gpu.reset();
    EXPECT_EQ(x.download()[7], 8.0f);
}

INSTANTIATE_TEST_SUITE_P(, OnGpu, ::testing::Values("sim:gtx1080", "sim:h200", "cuda:0"), [](const auto& info) {
    std::string name = info.param;
    for (char& c : name)
        if (c == ':') c = '_';
    return name;
});

TEST(OpenGpu, UnknownNamesAreRefused) {
    EXPECT_THROW(Gpu::open("sim:gtx9999"), Error);
    EXPECT_THROW(Gpu::open("cuda:x"), Error);
    EXPECT_THROW(Gpu::open("cuda:-1"), Error);
    EXPECT_THROW(Gpu::open("nothing"), Error);
}

TEST(OpenGpu, SettingsAndSchedulerReachTheSimulatedGpu) {
    SimulationOptions options;
    options.settings = {"sm.count=3"};
    Gpu gpu = Gpu::open("sim:gtx1080", options);
    EXPECT_EQ(gpu.info().sms, 3);
    options.scheduler = "no such";
    EXPECT_THROW(Gpu::open("sim:gtx1080", options), Error);
}

TEST(OpenGpu, TwoSimulatedGpusHaveClocksOfTheirOwn) {
    Gpu a = Gpu::open("sim:gtx1080"), b = Gpu::open("sim:gtx1080");
    Array<float> x = a.context().array(std::vector<float>(64, 1.0f));
    Kernel scale = a.context().load(kModule).kernel("scale");
    Stream stream = a.context().createStream();
    scale.launch(stream, {1}, {64}, 0, x, 5.0f, 64u);
    stream.synchronize();
    EXPECT_GT(a.context().now(), 0);
    EXPECT_EQ(b.context().now(), 0);
}

TEST(OpenGpu, TearingDownWhatWasDiscardedTakesNoSimulatedTime) {
    Gpu gpu = Gpu::open("sim:gtx1080");
    constexpr unsigned kSize = 1 << 20;
    Cycles before = 0;
    {
        Context context = gpu.createContext();
        Array<float> x = context.array(std::vector<float>(kSize, 1.0f));
        Stream stream = context.createStream();
        Kernel scale = context.load(kModule).kernel("scale");
        for (int i = 0; i < 3; ++i) scale.launch(stream, {kSize / 128}, {128}, 0, x, 2.0f, kSize);
        EXPECT_EQ(context.api().cuStreamQuery(stream.handle()), driver::CUDA_ERROR_NOT_READY);  // some time passes
        before = gpu.launchCounters().now();
        gpu.discardWork();
        EXPECT_EQ(gpu.launchCounters().launch(1).ended, before);
    }
    EXPECT_EQ(gpu.launchCounters().now(), before);
}

TEST(OpenGpu, ConcurrentContextsOverlap) {
    Gpu gpu = Gpu::open("sim:gtx1080");
    const auto together = [&](bool concurrent) {
        Context a = gpu.createContext(concurrent), b = gpu.createContext(concurrent);
        std::vector<Array<float>> arrays;
        std::vector<Stream> streams;
        std::vector<Kernel> kernels;
        for (Context* c : {&a, &b}) {
            arrays.push_back(c->array(std::vector<float>(1 << 14, 1.0f)));
            streams.push_back(c->createStream());
            kernels.push_back(c->load(kModule).kernel("scale"));
        }
        const Cycles before = gpu.launchCounters().now();
        for (int i = 0; i < 2; ++i) kernels[i].launch(streams[i], {8}, {128}, 0, arrays[i], 2.0f, 1u << 14);
        for (Stream& stream : streams) stream.synchronize();
        return gpu.launchCounters().now() - before;
    };
    EXPECT_LT(together(true), together(false));
}

}  // namespace
}  // namespace bulkhead::gpu
