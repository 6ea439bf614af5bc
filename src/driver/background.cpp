#include "driver/background.h"

#include <pthread.h>

#include <chrono>
#include <thread>

#include "base/quiet_thread.h"
#include "driver/host_watch.h"
#include "driver/state.h"

namespace bulkhead::driver {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks(5);

std::atomic<bool> wanted = false;

/// Until a call comes, or nothing can go on. True: something is left that the host has to do something for.
bool work(Device& device) {
    const auto stop = [] { return !wanted || state().callsInside > 0; };
    for (;;) {
        const sim::Machine::Left left = device.gpu->work(stop);
        if (!runDueFunctions(device)) return left != sim::Machine::Left::nothing;
        if (stop()) return true;
    }
}

void serve() {
    HostWatch watch;
    bool workLeft = true;
    std::uint64_t seen = 0;  ///< calls, when nothing was left
    for (;;) {
        std::this_thread::sleep_for(kBetweenLooks);
        const std::uint64_t calls = state().calls;
        if (!wanted || state().callsInside > 0 || (!workLeft && calls == seen) || !watch.waits(calls)) continue;
        const std::lock_guard lock(state().mutex);
        workLeft = false;
        seen = calls;
        for (const auto& [ordinal, device] : state().devices) workLeft = work(*device) || workLeft;
    }
}

/// It lives as long as the process.
void start() {
    quietThread(serve).detach();
    // A child process has no such thread, and must not inherit a lock that it holds.
    pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); }, [] { state().mutex.unlock(); });
}

}  // namespace

void workWhileHostWaits(bool on) {
    wanted = on;
    const std::lock_guard lock(state().mutex);  // it has stopped where this is passed
    if (!on) return;
    static std::once_flag once;
    std::call_once(once, start);
}

}  // namespace bulkhead::driver
