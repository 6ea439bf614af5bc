#include "libcuda/interruption.h"

#include <semaphore.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "base/environment.h"
#include "base/quiet_thread.h"
#include "gpu/simulated_device.h"
#include "libcuda/statistics.h"

namespace bulkhead::libcuda {
namespace {

/// For a simulation to end the program by itself; one that runs looks several times as often.
constexpr std::chrono::milliseconds kPatience(1000);

std::atomic<bool> interrupted = false;
sem_t signalled;

void handle(int /*signal*/) {
    signal(SIGINT, SIG_DFL);
    interrupted = true;
    sem_post(&signalled);
}

[[noreturn]] void end() {
    Statistics::instance().write();
    raise(SIGINT);  // as the program would have ended
    std::abort();
}

/// For a program that is interrupted while nothing is simulated.
void waitForInterruption() {
    while (sem_wait(&signalled) != 0 && errno == EINTR) {
    }
    std::this_thread::sleep_for(kPatience);
    gpu::workWhileHostWaits(false);
    if (interrupted.exchange(false)) end();
}

bool wantsStatistics() {
    return environment("BULKHEAD_SUMMARY") == "1" || !environment("BULKHEAD_STATS").empty() ||
           !environment("BULKHEAD_METRICS").empty();
}

}  // namespace

void writeStatisticsWhenInterrupted() {
    struct sigaction before = {};
    if (!wantsStatistics() || sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) return;
    sem_init(&signalled, 0, 0);
    quietThread(waitForInterruption).detach();
    signal(SIGINT, handle);
}

void endIfInterrupted() {
    if (interrupted.exchange(false)) end();
}

}  // namespace bulkhead::libcuda
