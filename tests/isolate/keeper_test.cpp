#include "isolate/keeper.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "arch/address_map.h"
#include "arch/device_profile.h"
#include "base/error.h"
#include "dissect/map_file.h"
#include "driver/simulated_driver.h"
#include "gpu/gpu.h"
#include "isolate/divided_gpu.h"
#include "isolate/kept_gpu.h"
#include "temporary_directory.h"

// A keeper and its tenants on a simulated GPU, in threads of one process, over a real socket.

namespace bulkhead::isolate {
namespace {

using nlohmann::json;

constexpr Bytes kKept = 100_MiB;
constexpr const char* kGpu = "sim:h200";

gpu::SimulationOptions fewSms() {
    gpu::SimulationOptions options;
    options.settings = {"sm.count=8"};
    return options;
}

class Keepers : public testing::Test {
  protected:
    Keepers() { startKeeper(); }
    ~Keepers() override { endKeeper(); }

    void startKeeper() {
        ended_ = false;
        keeper_ = std::make_unique<Keeper>(driver::simulatedDriver(), deviceOf(gpu_), book_);
        thread_ = std::thread([this] { keeper_->run([this] { return ended_.load(); }); });
    }

    void endKeeper() {
        ended_ = true;
        if (thread_.joinable()) thread_.join();
        keeper_.reset();
    }
    static driver::CUdevice deviceOf(gpu::Gpu& gpu) {
        driver::CUdevice device = 0;
        gpu.context().makeCurrent();
        EXPECT_EQ(gpu.api().cuCtxGetDevice(&device), driver::CUDA_SUCCESS);
        return device;
    }
    /// All but what is to be kept.
    Bytes reserve() {
        std::size_t free = 0, total = 0;
        gpu_.context().makeCurrent();
        EXPECT_EQ(gpu_.api().cuMemGetInfo(&free, &total), driver::CUDA_SUCCESS);
        return free - kKept;
    }
    std::shared_ptr<KeptGpu> looked() {
        auto kept = KeptGpu::find(gpu_, book_);
        kept->look(reserve(), nullptr);
        return kept;
    }
    Lease join(const std::shared_ptr<KeptGpu>& kept, const std::string& name,
               walls::Coloring coloring = walls::Coloring::sides) {
        return book_.join(name, [&](const std::vector<Partition>& partitions) {
            // Simulated GPUs could also choose pages; keepers are for those that cannot.
            walled_.emplace(makeWalledGpu(gpu_, coloring, "", std::nullopt, kept));
            return makePlan(divisibleGpuOf(gpu_, *walled_), partitions);
        });
    }
    walls::SmSet onSide(unsigned side) {
        const std::vector<std::uint8_t> sides = KeptGpu::find(gpu_, book_)->survey()->topology.sideOf;
        walls::SmSet sms;
        for (const std::uint8_t one : sides) sms.push_back(one == side);
        return sms;
    }
    static std::string refusal(const std::function<void()>& act) {
        try {
            act();
        } catch (const Error& e) {
            return e.what();
        }
        return "done";
    }

    TemporaryDirectory folder_;
    gpu::Gpu gpu_ = gpu::Gpu::open(kGpu, fewSms());
    LeaseBook book_{folder_.path() / "leases", {kGpu, false}};
    std::unique_ptr<Keeper> keeper_;
    std::atomic<bool> ended_ = false;
    std::thread thread_;
    std::optional<walls::WalledGpu> walled_;
};

TEST_F(Keepers, KnowNothingUntilSomebodyHasLooked) {
    EXPECT_FALSE(KeptGpu::isReady(book_));
    const auto kept = KeptGpu::find(gpu_, book_);
    ASSERT_NE(kept, nullptr);
    EXPECT_FALSE(kept->survey());
    EXPECT_NE(refusal([&] { kept->take({1, 1}); }).find("set the partitions"), std::string::npos);
    kept->look(reserve(), nullptr);
    ASSERT_TRUE(kept->survey());
    EXPECT_EQ(kept->survey()->topology.sms(), 8u);
    EXPECT_EQ(kept->bytes() % kept->survey()->row.blockBytes(), 0u);
    EXPECT_GT(kept->bytes(), kKept / 2);
    EXPECT_TRUE(KeptGpu::isReady(book_));
    // Somebody who asks later is told the same.
    const auto later = KeptGpu::find(gpu_, book_);
    EXPECT_EQ(later->survey()->toJson(), kept->survey()->toJson());
    EXPECT_EQ(later->bytes(), kept->bytes());
}

TEST_F(Keepers, OnlyOneKeepsAGpu) {
    EXPECT_NE(refusal([&] { Keeper(driver::simulatedDriver(), deviceOf(gpu_), book_); }).find("another process keeps"),
              std::string::npos);
}

TEST_F(Keepers, ATenantGetsItsColorInSteps) {
    const auto kept = looked();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease lease = join(kept, "B");
    walls::PartitionContext tenant = walled_->enclose(wallsOf(lease.share(), *walled_));
    EXPECT_EQ(lease.share().memoryBytes, kept->bytes() / 2);
    std::vector<gpu::Buffer> buffers;
    Bytes sum = 0;
    for (const Bytes bytes : {Bytes{1_MiB}, Bytes{3_MiB}, Bytes{12_MiB}}) {
        buffers.push_back(tenant.context().allocate(bytes));
        sum += bytes;
    }
    EXPECT_EQ(tenant.memoryUsed(), sum);
    // Independently of any timing: a simulated GPU knows where its memory lies. Slices of a side follow each other.
    const arch::AddressMap& map = gpu_.profile()->map;
    std::set<bool> sides;
    gpu_.context().makeCurrent();
    for (const gpu::Buffer& buffer : buffers)
        for (const std::uint64_t address : tenant.sampleSectors(buffer, 200, 7))
            sides.insert(map.locate(gpu_.context().physicalAddress(address)).slice >= map.slices() / 2);
    EXPECT_EQ(sides.size(), 1u) << "memory of both sides";
    // More than its share is no memory at all.
    driver::CUdeviceptr more = 0;
    tenant.context().makeCurrent();
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&more, lease.share().memoryBytes), driver::CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(Keepers, FourTenantsHaveSlicesOfTheirOwn) {
    const dissect::MapFile map = dissect::readMapFile(BULKHEAD_SOURCE_DIR "/results/h200/dissect.json");
    const auto kept = KeptGpu::find(gpu_, book_);
    kept->look(reserve(), &map);
    ASSERT_TRUE(kept->survey()->slices);
    EXPECT_EQ(kept->bytes() % (47 * kept->survey()->row.blockBytes()), 0u);
    EXPECT_GT(kept->bytes(), kKept / 2);
    book_.setPartitions(parsePartitions("A=25%,B=25%,C=25%,D=25%"));
    std::vector<std::set<std::uint32_t>> slices;
    for (const char* name : {"A", "B", "C", "D"}) {
        // The keeper knows a tenant by its connection.
        const Lease lease = join(KeptGpu::find(gpu_, book_), name, walls::Coloring::slices);
        walls::PartitionContext tenant = walled_->enclose(wallsOf(lease.share(), *walled_));
        const gpu::Buffer some = tenant.context().allocate(2_MiB),
                          most = tenant.context().allocate(lease.share().memoryBytes - 3_MiB);
        gpu_.context().makeCurrent();
        slices.emplace_back();
        for (const gpu::Buffer* buffer : {&some, &most})
            for (const std::uint64_t address : tenant.sampleSectors(*buffer, 300, 5))
                slices.back().insert(gpu_.profile()->map.locate(gpu_.context().physicalAddress(address)).slice);
        EXPECT_EQ(slices.back().size(), lease.share().colors.size());
        driver::CUdeviceptr more = 0;
        tenant.context().makeCurrent();
        EXPECT_EQ(tenant.context().api().cuMemAlloc(&more, 4_MiB), driver::CUDA_ERROR_OUT_OF_MEMORY);
    }
    std::set<std::uint32_t> together;
    for (const auto& ofTenant : slices) together.insert(ofTenant.begin(), ofTenant.end());
    EXPECT_EQ(together.size(), slices[0].size() + slices[1].size() + slices[2].size() + slices[3].size());
}

TEST_F(Keepers, TenantsOfDifferentColorsHaveTheSameBlocks) {
    BlockStore store(driver::simulatedDriver(), deviceOf(gpu_));
    store.make(1, {}, 12_MiB);
    ASSERT_EQ(store.blocks(), 6u);
    using Label = dissect::PageLabel;
    store.label(0, {Label{0, 0, 0}, Label{0, 0, 1}, Label{0, 0, 2}});
    store.label(3, {Label{0, 0, 0}, std::nullopt, Label{0, 0, 1}});
    EXPECT_THROW(store.label(6, {Label{}}), Error);
    store.settle({4, 3, [](const Label& label) { return label.addend; }});
    EXPECT_EQ(store.blocks(), 5u) << "what has no label is the driver's";
    EXPECT_EQ(store.bytes(), 3 * dissect::kPageBytes) << "one of each kind: there is one of kind 2";
    const std::vector<std::size_t> both = {0, 1, 3};
    EXPECT_EQ(store.take(1, {0, 1}, {2, 1, 0}, 10), both);
    EXPECT_EQ(store.take(2, {3}, {2, 1, 0}, 10), both) << "another color of the same blocks";
    EXPECT_EQ(store.take(3, {1, 2}, {9, 9, 9}, 10), (std::vector<std::size_t>{2, 4})) << "color 1 is somebody's";
    EXPECT_EQ(store.take(4, {2}, {9, 9, 9}, 2), (std::vector<std::size_t>{0, 1})) << "no more than its share";
    EXPECT_EQ(store.blocksOf(1), 3u);
    store.giveBack(1);
    EXPECT_EQ(store.take(5, {0, 1}, {9, 0, 0}, 10), (std::vector<std::size_t>{0, 3}));
}

TEST_F(Keepers, GiveNobodyMemoryWithoutALeaseOrOfMoreColors) {
    const auto kept = looked();
    EXPECT_NE(refusal([&] { kept->take({1, 0}); }).find("has no lease"), std::string::npos);
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease lease = join(kept, "A");
    const auto taken = kept->take({1, 1});
    EXPECT_EQ(taken.size(), 2u);
    for (const auto& block : taken) gpu_.api().cuMemRelease(block.handle);
}

TEST_F(Keepers, HaveBackWhatATenantTookOnceItIsGone) {
    const auto owner = looked();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    auto kept = KeptGpu::find(gpu_, book_);
    const Lease lease = join(owner, "A");
    const std::size_t most = 1000;
    const auto all = kept->take({most, most});
    EXPECT_EQ(all.size() * owner->survey()->row.blockBytes(), owner->bytes());
    EXPECT_TRUE(kept->take({1, 1}).empty());
    EXPECT_NE(refusal([&] { KeptGpu::end(book_); }).find("tenants have memory"), std::string::npos);
    for (const auto& block : all) gpu_.api().cuMemRelease(block.handle);
    kept.reset();
    // The keeper sees that in a moment.
    auto again = KeptGpu::find(gpu_, book_);
    std::vector<walls::BlockSource::Block> taken;
    for (int i = 0; i < 100 && taken.empty(); ++i) {
        taken = again->take({most, most});
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(taken.size(), all.size());
    for (const auto& block : taken) gpu_.api().cuMemRelease(block.handle);
}

TEST_F(Keepers, GiveTheDriverWhatProgramsWithoutAMemoryWallHave) {
    const auto owner = looked();
    const Bytes all = owner->allBytes(), inPairs = owner->bytes(), block = owner->survey()->row.blockBytes();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    const auto freeBytes = [&] {
        std::size_t free = 0, total = 0;
        gpu_.context().makeCurrent();
        EXPECT_EQ(gpu_.api().cuMemGetInfo(&free, &total), driver::CUDA_SUCCESS);
        return Bytes{free};
    };
    auto kept = KeptGpu::find(gpu_, book_);
    EXPECT_NE(refusal([&] { kept->release(); }).find("has no lease"), std::string::npos);
    {
        const Lease walled = join(owner, "A");
        EXPECT_NE(refusal([&] { KeptGpu::find(gpu_, book_)->release(); }).find("memory of its colors"),
                  std::string::npos);
    }
    const auto split = [&](const std::vector<Partition>& partitions) {
        return makePlan(divisibleGpuOf(gpu_, *walled_), partitions);
    };
    const Lease lease = book_.join("A", split, false);
    const Bytes before = freeBytes();
    kept->release();
    const Bytes released = freeBytes() - before;
    EXPECT_EQ(released, lease.share().memoryBytes / block * block);
    EXPECT_EQ(KeptGpu::stateOf(book_)->releasedBytes, released);
    EXPECT_EQ(KeptGpu::stateOf(book_)->allBytes, all);
    EXPECT_NE(refusal([&] { kept->release(); }).find("has its memory"), std::string::npos);
    EXPECT_NE(refusal([&] { KeptGpu::end(book_); }).find("tenants have memory"), std::string::npos);
    // It comes back when the program is gone, and whoever comes next looks at it.
    kept.reset();
    for (int i = 0; i < 200 && KeptGpu::stateOf(book_)->unknownBytes < released; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_EQ(KeptGpu::stateOf(book_)->unknownBytes, released);
    auto next = KeptGpu::find(gpu_, book_);
    EXPECT_TRUE(next->lookAtUnknown(onSide(1)));
    EXPECT_FALSE(next->lookAtUnknown(onSide(1)));
    EXPECT_EQ(next->bytes(), inPairs);
}

TEST_F(Keepers, GiveNothingWhereOthersHaveIt) {
    const auto owner = looked();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    std::vector<walls::BlockSource::Block> taken;
    {
        const Lease walled = join(owner, "B");
        taken = owner->take({1000, 1000});
    }
    Share everything = {{"C", 1, 1}, {0}, {0}, owner->allBytes(), false};
    const Lease lease = book_.join(everything);
    const auto kept = KeptGpu::find(gpu_, book_);
    // Blocks of a color are taken in pairs of both kinds: what is left has no partner.
    const std::string why = fmt::format("{} MB are free of the {} MB of partition C",
                                        (owner->allBytes() - owner->bytes()) >> 20, owner->allBytes() >> 20);
    EXPECT_NE(refusal([&] { kept->release(); }).find(why), std::string::npos);
    EXPECT_EQ(KeptGpu::stateOf(book_)->releasedBytes, 0u);
    for (const auto& block : taken) gpu_.api().cuMemRelease(block.handle);
}

TEST_F(Keepers, AnswerNonsenseWithOneLineAndGoOn) {
    const auto folder = book_.openFolder().path();
    const auto channel = Channel::connect(folder, Keeper::kSocket);
    ASSERT_TRUE(channel);
    const auto answerTo = [&](const json& request) {
        channel->send(request);
        return channel->receive(std::chrono::seconds(10))->body.value("error", "");
    };
    EXPECT_NE(answerTo({{"do", "dance"}}).find("no request dance"), std::string::npos);
    EXPECT_NE(answerTo({{"do", "make"}}).find("without a number"), std::string::npos);
    EXPECT_NE(answerTo({{"do", "make"}, {"pages_per_block", 0}, {"skip", 0}, {"skip_after", 0}, {"bytes", 1}})
                  .find("0 pages"),
              std::string::npos);
    EXPECT_NE(answerTo({{"do", "settle"}, {"survey", {{"sms", "9"}}}}).find("no survey"), std::string::npos);
    EXPECT_NE(answerTo({{"do", 1}}), "");
    EXPECT_EQ(answerTo({{"do", "state"}}), "");
    EXPECT_NE(KeptGpu::find(gpu_, book_), nullptr);
}

TEST_F(Keepers, TenantsGoOnWhenTheirKeeperIsGone) {
    const auto kept = looked();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease lease = join(kept, "A");
    walls::PartitionContext tenant = walled_->enclose(wallsOf(lease.share(), *walled_));
    gpu::Array<std::uint32_t> numbers = tenant.context().array(std::vector<std::uint32_t>(1000, 7));
    endKeeper();
    EXPECT_EQ(numbers.download(), std::vector<std::uint32_t>(1000, 7));
    EXPECT_EQ(KeptGpu::find(gpu_, book_), nullptr);
    // What it has need not grow.
    EXPECT_NO_THROW(tenant.context().allocate(1000));
}

TEST_F(Keepers, WithoutAKeeperThereIsNoMoreMemoryUntilThereIsAnother) {
    const auto kept = looked();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease lease = join(kept, "A");
    walls::PartitionContext tenant = walled_->enclose(wallsOf(lease.share(), *walled_));
    endKeeper();
    driver::CUdeviceptr memory = 0;
    tenant.context().makeCurrent();
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&memory, 1000), driver::CUDA_ERROR_OUT_OF_MEMORY);
    startKeeper();
    tenant.context().makeCurrent();
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&memory, 1000), driver::CUDA_ERROR_OUT_OF_MEMORY)
        << "nobody has looked yet";
    EXPECT_TRUE(looked()->lookAtUnknown(onSide(1)));
    tenant.context().makeCurrent();
    EXPECT_EQ(tenant.context().api().cuMemAlloc(&memory, 1000), driver::CUDA_SUCCESS);
}

/// Its survey is in a file of the folder: nothing but the memory that is left need be looked at.
TEST_F(Keepers, AnotherKeeperGoesOnBesideTenants) {
    const auto kept = looked();
    const json survey = kept->survey()->toJson();
    const Bytes block = kept->survey()->row.blockBytes();
    book_.setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease lease = join(kept, "A");
    walls::PartitionContext tenant = walled_->enclose(wallsOf(lease.share(), *walled_));
    const gpu::Array<std::uint32_t> numbers = tenant.context().array(std::vector<std::uint32_t>(1000, 7));
    endKeeper();
    startKeeper();
    auto another = KeptGpu::find(gpu_, book_);
    EXPECT_FALSE(another->survey());
    another->look(reserve() - 2 * kKept, nullptr);  // enough for blocks of both kinds
    ASSERT_TRUE(another->survey());
    EXPECT_EQ(another->survey()->toJson(), survey);
    EXPECT_EQ(another->bytes(), 0u) << "nobody knows of what kind its blocks are";
    EXPECT_TRUE(another->lookAtUnknown(onSide(1)));
    EXPECT_GE(another->bytes(), 4 * block) << "what is left, but for what has no partner";
    EXPECT_EQ(numbers.download(), std::vector<std::uint32_t>(1000, 7));
    const auto taken = another->take({1, 1});
    EXPECT_EQ(taken.size(), 2u);
    for (const auto& one : taken) gpu_.api().cuMemRelease(one.handle);
}

TEST_F(Keepers, WhatIsRememberedEndsWithThePartitionsAndWithTheDriver) {
    looked();
    const auto file = book_.openFolder().path() / "keeper.survey";
    ASSERT_TRUE(std::filesystem::exists(file));
    json text = json::parse(std::ifstream(file));
    text["driver"] = "another";
    std::ofstream(file) << text;
    endKeeper();
    startKeeper();
    const auto stateOf = [&] {
        const auto channel = Channel::connect(book_.openFolder().path(), Keeper::kSocket);
        channel->send({{"do", "state"}});
        return channel->receive(std::chrono::seconds(10))->body;
    };
    EXPECT_TRUE(stateOf()["remembered"].is_null());
    looked();
    std::thread ending([&] { KeptGpu::end(book_); });
    thread_.join();
    keeper_.reset();
    ending.join();
    EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace bulkhead::isolate
