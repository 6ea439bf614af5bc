#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace bulkhead::sim {

/// Threads of the host that do the parts of a job at once, for many short jobs one after the other. The caller is one
/// of them. The others wait for the next job for some microseconds before they sleep. A job is not held up by those
/// that the host does not let run: it is done when no part is left and nobody is at work on one.
class ThreadTeam {
  public:
    explicit ThreadTeam(unsigned threads) : size_(threads) {}
    ~ThreadTeam();
    ThreadTeam(const ThreadTeam&) = delete;
    ThreadTeam& operator=(const ThreadTeam&) = delete;

    unsigned size() const { return size_; }

    /// Calls work(part) for every part below `parts`, in any order, and returns when all are done. It must not throw.
    template <class Work>
    void run(std::size_t parts, const Work& work) {
        const Job job{&work, [](const void* w, std::size_t part) { (*static_cast<const Work*>(w))(part); }, parts};
        run(job);
    }

  private:
    static constexpr std::uint32_t kOpen = std::uint32_t{1} << 31;

    struct Job {
        const void* work;
        void (*call)(const void* work, std::size_t part);
        std::size_t parts;
    };

    void run(const Job&);
    void start();
    void end();
    void serve(std::uint32_t seen);
    bool join();
    void takeParts();

    const unsigned size_;
    std::vector<std::thread> threads_;
    std::uint64_t forks_ = 0;  ///< of the process, when the threads were started
    Job job_{};
    alignas(64) std::atomic<std::size_t> nextPart_{0};
    alignas(64) std::atomic<std::uint32_t> round_{0};
    alignas(64) std::atomic<std::uint32_t> gate_{0};  ///< kOpen while threads may join the job; how many have
    std::atomic<bool> ending_{false};
};

}  // namespace bulkhead::sim
