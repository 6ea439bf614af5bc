// What GPUs can do and tell, held against what they do and tell.

#include "gpu/capabilities.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "gpu/gpu_name.h"
#include "gpu/known_profile.h"
#include "gpu/launch_log.h"
#include "gpu/page_colors.h"

namespace bulkhead::gpu {
namespace {

/// `spin` takes so many cycles, `store` writes a word.
const char* const kModule =
    ".version 6.0\n.target sm_60\n.address_size 64\n"
    ".visible .entry spin(.param .u32 cycles)\n"
    "{\n.reg .pred %p; .reg .b32 %r<4>;\n"
    "ld.param.u32 %r1, [cycles]; mov.u32 %r2, %clock;\n"
    "again: mov.u32 %r3, %clock; sub.u32 %r3, %r3, %r2; setp.lt.u32 %p, %r3, %r1; @%p bra again; ret;\n}\n"
    ".visible .entry store(.param .u64 x)\n"
    "{\n.reg .b32 %r; .reg .b64 %rd;\n"
    "ld.param.u64 %rd, [x]; mov.u32 %r, 1; st.global.u32 [%rd], %r; ret;\n}\n";

void spin(Context& context, unsigned blocks, std::uint32_t cycles) {
    Stream stream = context.createStream();
    context.load(kModule).kernel("spin").launch(stream, {blocks}, {32}, 0, cycles);
    stream.synchronize();
}

TEST(GpuName, IsOfADriverOrOfASimulatedGpu) {
    const GpuName second = GpuName::parse("cuda:1");
    EXPECT_EQ(second.kind, GpuName::Kind::cuda);
    EXPECT_EQ(second.ordinal, 1);
    for (const char* name : {"sim:tx2", "tx2"}) {
        EXPECT_EQ(GpuName::parse(name).kind, GpuName::Kind::simulated) << name;
        EXPECT_EQ(GpuName::parse(name).profile, "tx2") << name;
    }
    EXPECT_EQ(GpuName::parse("sim:my/cuda:0.json").profile, "my/cuda:0.json");
}

TEST(GpuName, OfADriverHasANumber) {
    for (const char* name : {"cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999"}) {
        EXPECT_THROW(GpuName::parse(name), Error) << name;
        EXPECT_THROW(capabilitiesOf(name), Error) << name;
    }
}

TEST(GpuName, TellsWhereNumbersComeFrom) {
    EXPECT_EQ(originOf("cuda:0"), "hardware");
    EXPECT_EQ(originOf("sim:gtx1080, sim:v100"), "simulated");
    EXPECT_EQ(originOf(""), "simulated");
}

TEST(Capabilities, AreKnownOfGpusThatAreNotThere) {
    EXPECT_TRUE(capabilitiesOf("cuda:77").sharedByProcesses);
    EXPECT_TRUE(capabilitiesOf("sim:no such").deterministic);
}

TEST(Capabilities, AreTheSameWithoutSimInFront) {
    EXPECT_EQ(capabilitiesOf("tx2"), capabilitiesOf("sim:tx2"));
    EXPECT_NE(capabilitiesOf("tx2"), capabilitiesOf("cuda:0"));
}

TEST(Settings, OfARealGpuAreRefusedBeforeItIsLookedFor) {
    SimulationOptions options;
    options.settings = {"dram.latency=400"};
    const auto why = [](const auto& action) {
        try {
            action();
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string("taken");
    };
    const std::string expected =
        "cuda:77: nobody can set dram.latency=400 of a real GPU: choose a simulated one, such as sim:h200";
    EXPECT_EQ(why([&] { Gpu::open("cuda:77", options); }), expected);
    EXPECT_EQ(why([&] { knownProfile("cuda:77", options.settings); }), expected);
    EXPECT_EQ(why([&] { Gpu::open("sim:tx2", options); }), "taken");
}

TEST(KnownProfile, HasItsParametersSet) {
    EXPECT_EQ(knownProfile("sim:gtx1080", {"sm.count=3"})->sm.count, 3);
    EXPECT_EQ(knownProfile("cuda:0", {}), std::nullopt);
    EXPECT_THROW(knownProfile("sim:gtx9999", {}), Error);
    EXPECT_THROW(knownProfile("sim:gtx1080", {"no.such=3"}), Error);
}

class CapabilitiesOf : public ::testing::TestWithParam<const char*> {
  protected:
    std::unique_ptr<Gpu> gpu;
    Capabilities can;

    void SetUp() override {
        try {
            gpu = std::make_unique<Gpu>(Gpu::open(GetParam()));
        } catch (const Error& e) {
            if (std::string(GetParam()) != "cuda:0") throw;
            GTEST_SKIP() << "no GPU here: " << e.what();
        }
        can = gpu->capabilities();
    }
    /// Whether it can be done without an Error.
    template <class Body>
    static bool works(Body&& body) {
        try {
            body();
            return true;
        } catch (const Error&) {
            return false;
        }
    }
};

TEST_P(CapabilitiesOf, AnOpenGpuAreThoseOfItsName) {
    EXPECT_EQ(can, capabilitiesOf(GetParam()));
}

TEST_P(CapabilitiesOf, PhysicalAddresses) {
    const Buffer buffer = gpu->context().allocate(4096);
    EXPECT_EQ(works([&] { gpu->context().physicalAddress(buffer.address()); }), can.physicalAddresses);
    EXPECT_FALSE(works([&] { gpu->context().physicalAddress(1); })) << "where there is no memory";
}

TEST_P(CapabilitiesOf, LaunchCounters) {
    EXPECT_EQ(works([&] { gpu->launchCounters(); }), can.launchCounters);
}

TEST_P(CapabilitiesOf, ConcurrentContexts) {
    EXPECT_EQ(works([&] { gpu->createContext(true); }), can.concurrentContexts);
    EXPECT_EQ(works([&] { gpu->createContext().limitThreads(0.5); }), can.concurrentContexts);
}

TEST_P(CapabilitiesOf, Settable) {
    EXPECT_EQ(works([&] { gpu->limitInstructions(1'000'000'000); }), can.settable);
    EXPECT_FALSE(gpu->instructionLimitReached());
}

TEST_P(CapabilitiesOf, SharedByProcesses) {
    EXPECT_EQ(!gpu->uuid().empty(), can.sharedByProcesses);
    EXPECT_EQ(!gpu->driverFile().empty(), can.sharedByProcesses);
}

TEST_P(CapabilitiesOf, RunsByItself) {
    Context& context = gpu->context();
    const double before = context.now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_EQ(context.now() > before, can.runsByItself) << "while nobody waited";
    spin(context, 1, 1000);
    EXPECT_GT(context.now(), before);
}

INSTANTIATE_TEST_SUITE_P(, CapabilitiesOf, ::testing::Values("sim:gtx1080", "cuda:0"), [](const auto& info) {
    return std::string(info.param).substr(0, std::string(info.param).find(':'));
});

TEST(SimulatedGpu, IsDeterministic) {
    const auto seconds = [] {
        Gpu gpu = Gpu::open("sim:gtx1080");
        spin(gpu.context(), 40, 3000);
        return gpu.context().now();
    };
    EXPECT_EQ(seconds(), seconds());
}

TEST(SimulatedGpu, TellsWhereAnAddressLies) {
    Gpu gpu = Gpu::open("sim:gtx1080");
    constexpr Bytes kPage = 4_KiB;
    const Buffer buffer = gpu.context().allocate(1_MiB);
    std::set<std::uint64_t> pages;
    for (Bytes o = 0; o < buffer.bytes(); o += kPage) {
        const std::uint64_t at = gpu.context().physicalAddress(buffer.address() + o);
        EXPECT_LT(at, gpu.info().memoryBytes);
        EXPECT_EQ(gpu.context().physicalAddress(buffer.address() + o + 100), at + 100);
        pages.insert(at);
    }
    EXPECT_EQ(pages.size(), buffer.bytes() / kPage) << "each page lies somewhere else";
}

TEST(SimulatedGpu, TakesPagesOfTheColorsAskedFor) {
    Gpu gpu = Gpu::open("sim:gtx1080");
    constexpr Bytes kPage = 4_KiB;
    const arch::AddressMap& map = gpu.profile()->map;
    const auto colorsOf = [&](const Buffer& buffer) {
        std::set<std::uint32_t> colors;
        for (Bytes o = 0; o < buffer.bytes(); o += kPage) {
            const auto address = buffer.address() + o;
            EXPECT_EQ(pageColor(address), map.color(physicalAddress(address), kPage));
            colors.insert(pageColor(address));
        }
        return colors;
    };
    gpu.context().makeCurrent();
    Buffer colored;
    {
        const PagesOfColors placed(kPage, {1});
        colored = gpu.context().allocate(1_MiB);
    }
    EXPECT_EQ(colorsOf(colored), std::set<std::uint32_t>{1});
    EXPECT_THROW(pageColor(1), Error);
    // Afterwards pages are as large as usual again, and pages of 2 MB have all colors.
    const Buffer plain = gpu.context().allocate(4_MiB);
    EXPECT_EQ(physicalAddress(plain.address() + 1_MiB), physicalAddress(plain.address()) + 1_MiB);
}

TEST(LaunchLog, HasTheLaunchesOfItsContextSinceItBegan) {
    Gpu gpu = Gpu::open("sim:gtx1080");
    Context other = gpu.createContext();
    spin(gpu.context(), 1, 100);
    LaunchLog log(gpu, gpu.context());
    EXPECT_TRUE(log.launches().empty());
    spin(gpu.context(), 3, 2000);
    spin(other, 7, 100);
    spin(gpu.context(), 5, 100);
    const std::vector<Launch> launches = log.launches();
    ASSERT_EQ(launches.size(), 2u);
    EXPECT_EQ(launches[0].kernel, "spin");
    EXPECT_EQ(launches[0].counters.blocks, 3u);
    EXPECT_EQ(launches[1].counters.blocks, 5u);
    EXPECT_GE(launches[0].cycles(), 2000u);
    EXPECT_LE(launches[0].ended, launches[1].started);
    EXPECT_FALSE(launches[0].failed);
    EXPECT_EQ(gpu.launchCounters().launch(launches[1].id).started, launches[1].started);
}

TEST(LaunchLog, TellsOfALaunchThatFailed) {
    Gpu gpu = Gpu::open("sim:gtx1080");
    LaunchLog log(gpu, gpu.context());
    Stream stream = gpu.context().createStream();
    gpu.context().load(kModule).kernel("store").launch(stream, {1}, {1}, 0, std::uint64_t{64});
    EXPECT_THROW(stream.synchronize(), Error);
    EXPECT_TRUE(gpu.launchCounters().launch(1).failed);
}

/// From the launch of one kernel in the primary context and one in another, which runs side by side with what else
/// does, to the end of both.
Cycles cyclesOfBoth(bool concurrentContexts, std::uint32_t cyclesOfEach) {
    SimulationOptions options;
    options.concurrentContexts = concurrentContexts;
    Gpu gpu = Gpu::open("sim:gtx1080", options);
    Context other = gpu.createContext(true);
    std::vector<Kernel> kernels;
    std::vector<Stream> streams;
    for (Context* context : {&gpu.context(), &other}) {
        kernels.push_back(context->load(kModule).kernel("spin"));
        streams.push_back(context->createStream());
    }
    const Cycles before = gpu.launchCounters().now();
    for (std::size_t i = 0; i < 2; ++i) kernels[i].launch(streams[i], {1}, {32}, 0, cyclesOfEach);
    for (Stream& stream : streams) stream.synchronize();
    return gpu.launchCounters().now() - before;
}

TEST(SimulatedGpu, RunsContextsOfPlainCallsSideBySideWhereThatIsAskedFor) {
    constexpr std::uint32_t kEach = 100'000;
    EXPECT_LT(cyclesOfBoth(true, kEach), 2 * kEach);
    EXPECT_GE(cyclesOfBoth(false, kEach), 2 * kEach);
}

}  // namespace
}  // namespace bulkhead::gpu
