// Partitions of one simulated GPU whose tenants are processes: what a keeper has for all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "child_processes.h"
#include "isolate/simulated_keeper.h"
#include "isolate/tenancy.h"
#include "temporary_directory.h"

namespace bulkhead::isolate {
namespace {

constexpr const char* kGpu = "sim:gtx1080";

/// `sweep` reads an array of a power of two of words again and again, 32 B apart; `twice` doubles what is there.
constexpr const char* kKernels = R"(.version 6.0
.target sm_60
.address_size 64
.visible .entry sweep(.param .u64 p, .param .u32 mask, .param .u32 rounds)
{
    .reg .pred %q; .reg .b32 %r<12>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [mask]; ld.param.u32 %r2, [rounds];
    mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.u32 %r6, %r3, %r4, %r5;
    mov.u32 %r10, %nctaid.x; mul.lo.u32 %r10, %r10, %r4; shl.b32 %r10, %r10, 3; shl.b32 %r6, %r6, 3;
    mov.u32 %r7, 0; mov.u32 %r8, 0;
L:  and.b32 %r9, %r6, %r1; mul.wide.u32 %rd2, %r9, 4; add.u64 %rd3, %rd1, %rd2;
    ld.global.cg.u32 %r11, [%rd3]; add.u32 %r8, %r8, %r11; add.u32 %r6, %r6, %r10;
    add.u32 %r7, %r7, 1; setp.lt.u32 %q, %r7, %r2; @%q bra L;
    setp.eq.u32 %q, %r8, 0xffffffff; @%q st.global.u32 [%rd1], %r8; ret;
}
.visible .entry twice(.param .u64 p)
{
    .reg .b32 %r<4>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2;
    ld.global.u32 %r2, [%rd3]; add.u32 %r2, %r2, %r2; st.global.u32 [%rd3], %r2; ret;
}
)";

class SharedGpu : public ChildProcesses {
  protected:
    TemporaryDirectory folder;

    LeaseBook book() const { return {folder / "leases", {kGpu}}; }
    /// Sets halves A and B of a GPU that a process keeps.
    pid_t keep() {
        book().setPartitions(parsePartitions("A=50%,B=50%"));
        const SimulatedGpu gpu{kGpu, {}, KeptSharing::mps};
        const pid_t keeper = process([&] {
            keepSimulated(gpu, book(), [] { return false; });
            return 0;
        });
        while (!keeperOf(book())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        startKeeping(gpu, book(), {"/nonexistent"});
        return keeper;
    }
    /// One that joins a partition.
    pid_t tenant(const char* partition, bool memoryWall, const std::function<int(Tenancy&)>& body) {
        return process([&] {
            LeaseBook own = book();
            std::optional<OpenedGpu> kept = openKept(own, {});
            if (!kept) return 98;
            return body(*Tenancy::join(std::move(kept->gpu), own, partition, memoryWall, &kept->survey));
        });
    }
    void killAndWait(pid_t id) {
        kill(id);
        end(id);
    }

    /// Whether a kernel doubles 256 numbers.
    static bool doubles(Tenancy& place, gpu::Array<unsigned>& array) {
        gpu::Context& context = place.tenant->context();
        std::vector<unsigned> numbers(256);
        std::iota(numbers.begin(), numbers.end(), 1);
        array.upload(numbers);
        gpu::Stream stream = context.createStream();
        context.load(kKernels).kernel("twice").launch(stream, {1}, {256}, 0, array);
        stream.synchronize();
        const std::vector<unsigned> doubled = array.download();
        for (unsigned i = 0; i < numbers.size(); ++i)
            if (doubled[i] != 2 * (i + 1)) return false;
        return true;
    }
    /// Simulated seconds that a tenant needs to read half a megabyte sixteen times, which its half of the L2 can hold.
    static double timeOfVictim(Tenancy& place) {
        gpu::Context& context = place.tenant->context();
        constexpr unsigned kWords = (512 << 10) / 4, kBlocks = 20, kThreads = 256;
        constexpr unsigned kRounds = 16 * kWords / (8 * kBlocks * kThreads);
        const gpu::Array<unsigned> array = context.array<unsigned>(std::vector<unsigned>(kWords, 1));
        gpu::Kernel sweep = context.load(kKernels).kernel("sweep");
        gpu::Stream stream = context.createStream();
        gpu::Event begin = context.createEvent(), done = context.createEvent();
        const auto read = [&] { sweep.launch(stream, {kBlocks}, {kThreads}, 0, array, kWords - 1, kRounds); };
        read();
        begin.record(stream);
        read();
        done.record(stream);
        done.synchronize();
        return done.secondsSince(begin);
    }
    /// Reads four times as much as the L2 holds, until it is killed.
    int disturb(Tenancy& place) const {
        gpu::Context& context = place.tenant->context();
        constexpr unsigned kWords = (8 << 20) / 4, kForever = 1'000'000'000;
        const gpu::Array<unsigned> array = context.array<unsigned>(kWords);
        gpu::Kernel sweep = context.load(kKernels).kernel("sweep");
        gpu::Stream stream = context.createStream();
        sweep.launch(stream, {40}, {256}, 0, array, kWords - 1, kForever);
        told->step = 1;
        stream.synchronize();
        return 0;
    }
    /// The victim's time in A beside a neighbour in B that has these walls; 0: alone.
    double measure(std::optional<bool> neighbourHasMemoryWall, bool ownMemoryWall) {
        told->step = 0;
        pid_t neighbour = 0;
        if (neighbourHasMemoryWall) {
            neighbour = tenant("B", *neighbourHasMemoryWall, [&](Tenancy& place) { return disturb(place); });
            waitFor(1);
        }
        const pid_t victim = tenant("A", ownMemoryWall, [&](Tenancy& place) {
            told->numbers[0] = timeOfVictim(place);
            return 0;
        });
        EXPECT_EQ(end(victim), 0);
        if (neighbour != 0) killAndWait(neighbour);
        return told->numbers[0];
    }
};

TEST_F(SharedGpu, WallsKeepANeighbourProcessOut) {
    keep();
    const double alone = measure({}, true), walled = measure(true, true);
    const double openAlone = measure({}, false), open = measure(false, false);
    EXPECT_GT(alone, 0);
    EXPECT_NEAR(walled, alone, 0.05 * alone);
    EXPECT_GT(open, 1.3 * openAlone);
}

TEST_F(SharedGpu, TenantsHaveTheirOwnSmsAndColors) {
    keep();
    const auto look = [&](std::size_t first) {
        return [this, first](Tenancy& place) {
            gpu::Array<unsigned> array = place.tenant->context().array<unsigned>(256);
            if (!doubles(place, array)) return 1;
            const walls::SmSet used = place.tenant->smsUsed();
            told->numbers[first] = static_cast<double>(std::find(used.begin(), used.end(), true) - used.begin());
            told->numbers[first + 1] = place.tenant->colorOf(array.address());
            ++told->step;
            waitFor(2);
            return 0;
        };
    };
    const pid_t a = tenant("A", true, look(0)), b = tenant("B", true, look(2));
    EXPECT_EQ(end(a), 0);
    EXPECT_EQ(end(b), 0);
    EXPECT_NE(told->numbers[0], told->numbers[2]);
    EXPECT_NE(told->numbers[1], told->numbers[3]);
}

TEST_F(SharedGpu, IsFullWherePartitionsAre) {
    keep();
    const pid_t first = tenant("A", true, [&](Tenancy&) {
        told->step = 1;
        waitFor(2);
        return 0;
    });
    waitFor(1);
    EXPECT_EQ(keeperOf(book())->processes, 1u);
    const pid_t second = process([&] {
        LeaseBook own = book();
        std::optional<OpenedGpu> kept = openKept(own, {});
        try {
            Tenancy::join(std::move(kept->gpu), own, "A", true, &kept->survey);
        } catch (const Error& error) {
            return std::string(error.what()).find("full") != std::string::npos ? 0 : 1;
        }
        return 2;
    });
    EXPECT_EQ(end(second), 0);
    told->step = 2;
    EXPECT_EQ(end(first), 0);
    while (keeperOf(book())->processes > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(keeperOf(book())->freeBytes, keeperOf(book())->bytes);
}

TEST_F(SharedGpu, TenantsComeAndAreKilledAtAnyMoment) {
    keep();
    const pid_t stays = tenant("A", true, [&](Tenancy& place) {
        gpu::Array<unsigned> array = place.tenant->context().array<unsigned>(256);
        for (told->step = 1; told->step < 2;)
            if (!doubles(place, array)) return 1;
        return 0;
    });
    waitFor(1);
    std::mt19937 random(7);
    for (int i = 0; i < 12; ++i) {
        // It works on all of its SMs, and copies, until it is killed: while it joins, in a kernel, in a copy or
        // between.
        const pid_t comes = tenant("B", true, [&](Tenancy& place) {
            gpu::Array<unsigned> array = place.tenant->context().array<unsigned>(1 << 20);
            for (;;) {
                if (!doubles(place, array)) return 1;
                timeOfVictim(place);
            }
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(random() % 300));
        kill(comes);
        EXPECT_EQ(end(comes), 128 + SIGKILL);
    }
    told->step = 2;
    EXPECT_EQ(end(stays), 0);
    while (keeperOf(book())->processes > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(keeperOf(book())->freeBytes, keeperOf(book())->bytes);
}

TEST_F(SharedGpu, EndsWhenItIsToldOrItsFolderGoes) {
    const pid_t told = keep();
    endKeeping(book());
    EXPECT_EQ(end(told), 0);
    EXPECT_FALSE(keeperOf(book()));
    EXPECT_FALSE(gpuToKeep(book()));
    const pid_t left = keep();
    std::filesystem::remove_all(folder / "leases");
    EXPECT_EQ(end(left), 0);
}

TEST_F(SharedGpu, IsMissedWhenItsKeeperWasKilled) {
    killAndWait(keep());
    EXPECT_TRUE(gpuToKeep(book()));
    EXPECT_THROW(openKept(book(), {}), Error);
}

TEST_F(SharedGpu, CannotBeHadWithOtherSettings) {
    keep();
    EXPECT_THROW(openKept(book(), {"l2.bytes=4194304"}), Error);
    EXPECT_THROW(startKeeping({kGpu, {}, KeptSharing::timeSlices}, book(), {}), Error);
}

}  // namespace
}  // namespace bulkhead::isolate
