// Several processes on one simulated GPU: a keeper has it, and each of the others calls it from a process of its own.

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "child_processes.h"
#include "driver/shared_machine.h"
#include "driver/simulated_driver.h"
#include "driver/support.h"
#include "far_driver/calls.h"
#include "far_driver/connection.h"
#include "far_driver/far_driver.h"
#include "far_driver/greeting.h"
#include "far_driver/server.h"
#include "temporary_directory.h"

namespace bulkhead::far_driver {
namespace {

using namespace driver;

constexpr unsigned kLong = 2'000'000'000;  ///< rounds of a kernel that nobody waits to the end of

/// A process's way to a GPU, its context and the kernels of the driver's tests.
struct Client {
    const DriverApi& api;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUresult made;

    explicit Client(const DriverApi& table) : api(table), made(make()) {}
    CUresult make() {
        for (const CUresult result : {api.cuInit(0), api.cuDevicePrimaryCtxRetain(&context, 0)})
            if (result != CUDA_SUCCESS) return result;
        const CUresult current = api.cuCtxSetCurrent(context);
        return current == CUDA_SUCCESS ? api.cuModuleLoadData(&module, kKernels) : current;
    }
    CUfunction kernel(const char* name) const {
        CUfunction function = nullptr;
        api.cuModuleGetFunction(&function, module, name);
        return function;
    }
    CUdeviceptr allocate(std::size_t bytes) const {
        CUdeviceptr address = 0;
        return api.cuMemAlloc(&address, bytes) == CUDA_SUCCESS ? address : 0;
    }
    CUresult launch(const char* name, unsigned blocks, unsigned threads, std::vector<void*> parameters) const {
        return api.cuLaunchKernel(kernel(name), blocks, 1, 1, threads, 1, 1, 0, nullptr, parameters.data(), nullptr);
    }
    CUresult spin(CUdeviceptr to, unsigned rounds, unsigned blocks = 1, unsigned threads = 1) const {
        return launch("spin", blocks, threads, {&to, &rounds});
    }
    /// Whether a kernel doubles what was copied there.
    bool doubles(CUdeviceptr at) const {
        std::vector<unsigned> numbers(256);
        for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = 3 * i + 1;
        const std::size_t bytes = numbers.size() * sizeof(unsigned);
        if (api.cuMemcpyHtoD(at, numbers.data(), bytes) != CUDA_SUCCESS) return false;
        if (launch("twice", 1, 256, {&at}) != CUDA_SUCCESS) return false;
        if (api.cuMemcpyDtoH(numbers.data(), at, bytes) != CUDA_SUCCESS) return false;
        for (unsigned i = 0; i < numbers.size(); ++i)
            if (numbers[i] != 2 * (3 * i + 1)) return false;
        return true;
    }
    /// Simulated milliseconds of a kernel, between events.
    float timeOf(CUdeviceptr to, unsigned rounds, unsigned blocks, unsigned threads) const {
        CUevent begin = nullptr, end = nullptr;
        api.cuEventCreate(&begin, 0);
        api.cuEventCreate(&end, 0);
        api.cuEventRecord(begin, nullptr);
        spin(to, rounds, blocks, threads);
        api.cuEventRecord(end, nullptr);
        api.cuEventSynchronize(end);
        float milliseconds = -1;
        api.cuEventElapsedTime(&milliseconds, begin, end);
        return milliseconds;
    }
    std::size_t freeBytes() const {
        std::size_t free = 0, total = 0;
        api.cuMemGetInfo(&free, &total);
        return free;
    }
};

class Processes : public ChildProcesses {
  protected:
    TemporaryDirectory folder;
    pid_t keeper = 0;

    Place place() const { return {folder.path(), "gpu"}; }

    void keep(sim::Sharing sharing = sim::Sharing::concurrent) {
        keeper = process([&] {
            const auto machine =
                std::make_shared<SharedMachine>(arch::findProfile("gtx1080"), sim::Machine::Options(), sharing);
            Server(place(), machine, {false, [] { return std::string("a GTX 1080"); }}).run([] { return false; });
            return 0;
        });
        while (!ask(place())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    /// One that uses the kept GPU.
    pid_t client(const std::function<int(Client&)>& body) {
        return process([&] {
            if (!join(place())) return 98;
            Client client(farDriver());
            return body(client);
        });
    }
};

TEST_F(Processes, OneAloneSeesWhatItWouldOnAGpuOfItsOwn) {
    const auto use = [&](const Client& client, std::size_t first) {
        const CUdeviceptr at = client.allocate(4096);
        told->numbers[first] = client.doubles(at) ? 1 : 0;
        told->numbers[first + 1] = client.timeOf(at, 1000, 40, 256);
        told->numbers[first + 2] = static_cast<double>(client.freeBytes());
        return 0;
    };
    const pid_t alone = process([&] {
        simulatorApi().addDevice(arch::findProfile("gtx1080"), {});
        return use(Client(simulatedDriver()), 0);
    });
    ASSERT_EQ(end(alone), 0);
    keep();
    ASSERT_EQ(end(client([&](const Client& c) { return use(c, 4); })), 0);
    EXPECT_EQ(told->numbers[0], 1);
    EXPECT_GT(told->numbers[1], 0);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(told->numbers[i], told->numbers[4 + i]) << i;
}

TEST_F(Processes, WorkAtTheSameTimeAndHaveRightResults) {
    keep();
    const auto work = [](const Client& client) {
        const CUdeviceptr at = client.allocate(4096);
        for (int i = 0; i < 10; ++i)
            if (!client.doubles(at)) return 1;
        return 0;
    };
    const pid_t first = client(work), second = client(work), third = client(work);
    EXPECT_EQ(end(first), 0);
    EXPECT_EQ(end(second), 0);
    EXPECT_EQ(end(third), 0);
}

TEST_F(Processes, ShareOneMemory) {
    keep();
    constexpr std::size_t kPart = 5ull << 30;  // of 8 GB
    const pid_t first = client([&](const Client& c) {
        told->numbers[0] = static_cast<double>(c.freeBytes());
        if (!c.allocate(kPart)) return 1;
        told->step = 1;
        waitFor(2);
        return 0;
    });
    const pid_t second = client([&](const Client& c) {
        waitFor(1);
        told->numbers[1] = static_cast<double>(c.freeBytes());
        CUdeviceptr address = 0;
        const CUresult full = c.api.cuMemAlloc(&address, kPart);
        told->step = 2;
        // The other ends, and its memory is free again.
        const double before = told->numbers[1] + static_cast<double>(kPart) / 2;
        while (static_cast<double>(c.freeBytes()) < before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return full == CUDA_ERROR_OUT_OF_MEMORY && c.allocate(kPart) ? 0 : 1;
    });
    EXPECT_EQ(end(first), 0);
    EXPECT_EQ(end(second), 0);
    EXPECT_GE(told->numbers[0] - told->numbers[1], static_cast<double>(kPart));
}

TEST_F(Processes, GoOnWhenOneIsKilledInTheMiddleOfAKernel) {
    keep();
    const pid_t killed = client([&](const Client& c) {
        const CUdeviceptr at = c.allocate(1 << 20);
        c.spin(at, kLong, 80, 256);
        told->step = 1;
        return c.api.cuCtxSynchronize();
    });
    // It joins beside a kernel that fills the GPU, and sees it go.
    const pid_t other = client([&](const Client& c) {
        waitFor(1);
        const CUdeviceptr at = c.allocate(4096);
        if (c.spin(at, 5000) != CUDA_SUCCESS) return 1;
        told->step = 2;
        return c.api.cuCtxSynchronize() == CUDA_SUCCESS && c.doubles(at) ? 0 : 1;
    });
    waitFor(2);
    kill(killed);
    EXPECT_EQ(end(killed), 128 + SIGKILL);
    EXPECT_EQ(end(other), 0);
    const pid_t next = client([&](const Client& c) { return c.doubles(c.allocate(4096)) ? 0 : 1; });
    EXPECT_EQ(end(next), 0);
}

TEST_F(Processes, SideBySideHaveTheFaultOfOne) {
    keep(sim::Sharing::concurrent);
    const pid_t faulty = client([&](const Client& c) {
        waitFor(1);
        CUdeviceptr at = c.allocate(4096);
        c.launch("wild", 1, 1, {&at});
        const CUresult result = c.api.cuCtxSynchronize();
        told->step = 2;
        waitFor(3);
        return result == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 1;
    });
    const pid_t beside = client([&](const Client& c) {
        c.spin(c.allocate(4096), kLong);
        told->step = 1;
        return c.api.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 1;
    });
    EXPECT_EQ(end(beside), 0);
    waitFor(2);
    const pid_t early = client([&](const Client& c) { return c.made == CUDA_ERROR_MPS_SERVER_NOT_READY ? 0 : 1; });
    EXPECT_EQ(end(early), 0);
    told->step = 3;
    EXPECT_EQ(end(faulty), 0);
    // Its connection may end a little later than the process.
    CUresult refused = 0;
    do {
        refused = end(client([&](const Client& c) {
            return c.made == CUDA_ERROR_MPS_SERVER_NOT_READY ? 2 : c.doubles(c.allocate(4096)) ? 0 : 1;
        }));
    } while (refused == 2);
    EXPECT_EQ(refused, 0);
}

TEST_F(Processes, InTurnsDoNotHaveTheFaultOfOne) {
    keep(sim::Sharing::timeSliced);
    const pid_t faulty = client([&](const Client& c) {
        waitFor(1);
        CUdeviceptr at = c.allocate(4096);
        c.launch("wild", 1, 1, {&at});
        return c.api.cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 1;
    });
    const pid_t beside = client([&](const Client& c) {
        const CUdeviceptr at = c.allocate(4096);
        c.spin(at, 100'000);
        told->step = 1;
        return c.api.cuCtxSynchronize() == CUDA_SUCCESS && c.doubles(at) ? 0 : 1;
    });
    EXPECT_EQ(end(faulty), 0);
    EXPECT_EQ(end(beside), 0);
}

TEST_F(Processes, SlowEachOtherDownOnOneMachine) {
    keep();
    // On every SM eight warps a scheduler, which leave it no slot, and four of the neighbour's beside them.
    constexpr unsigned kBlocks = 20, kThreads = 1024, kRounds = 1000, kFewThreads = 512;
    const pid_t alone = client([&](const Client& c) {
        told->numbers[0] = c.timeOf(c.allocate(4096), kRounds, kBlocks, kThreads);
        return 0;
    });
    ASSERT_EQ(end(alone), 0);
    const pid_t neighbour = client([&](const Client& c) {
        c.spin(c.allocate(4096), kLong, kBlocks, kFewThreads);
        told->step = 1;
        return c.api.cuCtxSynchronize();
    });
    waitFor(1);
    const pid_t victim = client([&](const Client& c) {
        told->numbers[1] = c.timeOf(c.allocate(4096), kRounds, kBlocks, kThreads);
        return 0;
    });
    EXPECT_EQ(end(victim), 0);
    kill(neighbour);
    EXPECT_GT(told->numbers[0], 0);
    EXPECT_GT(told->numbers[1], 1.1 * told->numbers[0]);
}

TEST_F(Processes, CannotReachWhatIsAnothers) {
    keep();
    const pid_t owner = client([&](const Client& c) {
        const CUdeviceptr at = c.allocate(4096);
        std::memcpy(&told->numbers[0], &at, sizeof at);
        std::memcpy(&told->numbers[1], &c.context, sizeof(CUcontext));
        told->step = 1;
        waitFor(2);
        return 0;
    });
    const pid_t other = client([&](const Client& c) {
        waitFor(1);
        CUdeviceptr at = 0;
        CUcontext context = nullptr;
        std::memcpy(&at, &told->numbers[0], sizeof at);
        std::memcpy(&context, &told->numbers[1], sizeof(CUcontext));
        unsigned word = 0;
        const CUresult read = c.api.cuMemcpyDtoH(&word, at, sizeof word), freed = c.api.cuMemFree(at),
                       used = c.api.cuCtxSetCurrent(context);
        told->step = 2;
        return read == CUDA_ERROR_INVALID_VALUE && freed == CUDA_ERROR_INVALID_VALUE &&
                       used == CUDA_ERROR_INVALID_CONTEXT
                   ? 0
                   : 1;
    });
    EXPECT_EQ(end(owner), 0);
    EXPECT_EQ(end(other), 0);
}

TEST_F(Processes, CannotReadTheKeepersMemory) {
    keep();
    static const unsigned long long secret = 0x1234;  // at the same address in all of them
    const pid_t asking = client([&](const Client& c) {
        const CUdeviceptr at = c.allocate(4096), there = reinterpret_cast<CUdeviceptr>(&secret);
        const CUresult copied = c.api.cuMemcpyPeer(at, c.context, there, c.context, sizeof secret),
                       overwritten = c.api.cuMemcpyPeer(there, c.context, at, c.context, sizeof secret);
        return copied == CUDA_ERROR_INVALID_VALUE && overwritten == CUDA_ERROR_INVALID_VALUE ? 0 : 1;
    });
    EXPECT_EQ(end(asking), 0);
}

TEST_F(Processes, OutliveOneThatSendsNonsense) {
    keep();
    const pid_t nonsense = process([&] {
        std::mt19937_64 random(11);
        Connection::open(place().folder, place().socket)->send(static_cast<std::uint32_t>(random()), {});
        for (std::uint32_t what = 0; what < kRequests + 5; ++what) {
            if (what == static_cast<std::uint32_t>(Request::end)) continue;
            const std::optional<Connection> connection = Connection::open(place().folder, place().socket);
            Message greeting;
            greeting.put(Greeting());
            if (!connection->send(static_cast<std::uint32_t>(Request::greet), greeting) || !connection->receive())
                return 1;
            for (std::size_t bytes : {0, 1, 8, 24, 200, 4000}) {
                Message message;
                while (message.bytes().size() < bytes) message.put(static_cast<std::uint8_t>(random() >> 40));
                if (!connection->send(what, message) || !connection->receive()) return 1;
            }
        }
        return 0;
    });
    EXPECT_EQ(end(nonsense), 0);
    EXPECT_EQ(end(client([&](const Client& c) { return c.doubles(c.allocate(4096)) ? 0 : 1; })), 0);
}

TEST_F(Processes, GetAnErrorWhenTheKeeperIsKilled) {
    keep();
    const pid_t waiting = client([&](const Client& c) {
        c.spin(c.allocate(4096), kLong);
        told->step = 1;
        const CUresult result = c.api.cuCtxSynchronize();
        CUdeviceptr address = 0;
        return result == CUDA_ERROR_MPS_RPC_FAILURE && c.api.cuMemAlloc(&address, 4) == CUDA_ERROR_MPS_RPC_FAILURE ? 0
                                                                                                                   : 1;
    });
    waitFor(1);
    kill(keeper);
    EXPECT_EQ(end(waiting), 0);
}

TEST_F(Processes, AreToldTheNameOfACallThatDoesNotTravel) {
    keep();
    const pid_t asking = client([&](const Client& c) {
        CUgraph graph = nullptr;
        const CUresult result = c.api.cuGraphCreate(&graph, 0);
        return result == CUDA_ERROR_NOT_SUPPORTED &&
                       simulatorApi().lastError().find("cuGraphCreate") != std::string::npos
                   ? 0
                   : 1;
    });
    EXPECT_EQ(end(asking), 0);
}

TEST_F(Processes, KeepCurrentContextsByThread) {
    keep();
    const pid_t asking = client([&](const Client& c) {
        CUcontext here = nullptr, there = c.context;
        std::thread([&] { c.api.cuCtxGetCurrent(&there); }).join();
        c.api.cuCtxGetCurrent(&here);
        return here == c.context && there == nullptr ? 0 : 1;
    });
    EXPECT_EQ(end(asking), 0);
}

TEST_F(Processes, CopyBoxesRowByRow) {
    keep();
    const pid_t copying = client([&](const Client& c) {
        constexpr std::size_t kWidth = 5, kHeight = 3, kPitch = 8;
        std::vector<std::uint8_t> from(kPitch * kHeight), to(kPitch * kHeight, 0xee);
        for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i);
        const CUdeviceptr at = c.allocate(4096);
        constexpr CUmemorytype kHost = 1, kDevice = 2;
        CUDA_MEMCPY2D in = {};
        in.srcMemoryType = kHost, in.srcHost = from.data(), in.srcPitch = kPitch;
        in.dstMemoryType = kDevice, in.dstDevice = at, in.dstPitch = 512;
        in.WidthInBytes = kWidth, in.Height = kHeight;
        CUDA_MEMCPY2D out = {};
        out.srcMemoryType = kDevice, out.srcDevice = at, out.srcPitch = 512;
        out.dstMemoryType = kHost, out.dstHost = to.data(), out.dstPitch = kPitch;
        out.WidthInBytes = kWidth, out.Height = kHeight;
        if (c.api.cuMemcpy2D(&in) != CUDA_SUCCESS || c.api.cuMemcpy2D(&out) != CUDA_SUCCESS) return 1;
        for (std::size_t y = 0; y < kHeight; ++y)
            for (std::size_t x = 0; x < kPitch; ++x)
                if (to[y * kPitch + x] != (x < kWidth ? y * kPitch + x : 0xee)) return 1;
        return 0;
    });
    EXPECT_EQ(end(copying), 0);
}

}  // namespace
}  // namespace bulkhead::far_driver
