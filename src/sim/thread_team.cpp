#include "sim/thread_team.h"

#include <pthread.h>

#include <new>

#include "base/quiet_thread.h"

namespace bulkhead::sim {
namespace {

std::atomic<std::uint64_t> forksSoFar{0};

/// A child process has none of its parent's threads.
std::uint64_t forks() {
    [[maybe_unused]] static const int registered =
        pthread_atfork(nullptr, nullptr, [] { forksSoFar.fetch_add(1, std::memory_order_relaxed); });
    return forksSoFar.load(std::memory_order_relaxed);
}

void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

/// Until `value` is no longer `old`: spinning at first, for a job follows another within microseconds.
template <class T>
T waitForChange(const std::atomic<T>& value, T old) {
    for (int i = 0; i < 4000; ++i) {
        if (const T now = value.load(std::memory_order_acquire); now != old) return now;
        pause();
    }
    value.wait(old, std::memory_order_acquire);
    return value.load(std::memory_order_acquire);
}

}  // namespace

ThreadTeam::~ThreadTeam() {
    end();
}

void ThreadTeam::start() {
    forks_ = forks();
    gate_.store(0, std::memory_order_relaxed);
    const std::uint32_t round = round_.load(std::memory_order_relaxed);
    for (unsigned i = 1; i < size_; ++i) threads_.push_back(quietThread([this, round] { serve(round); }));
}

void ThreadTeam::end() {
    if (threads_.empty()) return;
    if (forks_ != forks()) {
        // They are the parent process's. Their handles cannot be joined here, nor destroyed.
        new std::vector<std::thread>(std::move(threads_));
        threads_ = std::vector<std::thread>();
        return;
    }
    ending_.store(true, std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    ending_ = false;
}

void ThreadTeam::takeParts() {
    for (std::size_t part; (part = nextPart_.fetch_add(1, std::memory_order_relaxed)) < job_.parts;)
        job_.call(job_.work, part);
}

void ThreadTeam::serve(std::uint32_t seen) {
    while (true) {
        seen = waitForChange(round_, seen);
        if (ending_.load(std::memory_order_relaxed)) return;
        if (!join()) continue;
        takeParts();
        if (gate_.fetch_sub(1, std::memory_order_acq_rel) == 1) gate_.notify_one();
    }
}

/// False if the job is over.
bool ThreadTeam::join() {
    std::uint32_t gate = gate_.load(std::memory_order_relaxed);
    while (gate & kOpen)
        if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel)) return true;
    return false;
}

void ThreadTeam::run(const Job& job) {
    if (size_ == 1 || job.parts < 2) {
        for (std::size_t part = 0; part < job.parts; ++part) job.call(job.work, part);
        return;
    }
    if (!threads_.empty() && forks_ != forks()) end();
    if (threads_.empty()) start();
    job_ = job;
    nextPart_.store(0, std::memory_order_relaxed);
    gate_.store(kOpen, std::memory_order_release);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    takeParts();
    gate_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (std::uint32_t atWork = gate_.load(std::memory_order_acquire); atWork != 0;)
        atWork = waitForChange(gate_, atWork);
}

}  // namespace bulkhead::sim
