#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace bulkhead::sim {

struct Code;

/// Reads outside of every allocation that hardware does not notice, because the page is mapped: told once for each
/// instruction. Kernels of many host threads may note at a time.
class Overruns {
  public:
    explicit Overruns(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {}

    template <class Describe>
    void note(const Code* code, std::int32_t line, Describe describe) {
        const std::lock_guard lock(mutex_);
        if (told_.emplace(code, line).second) tell_(describe());
    }

  private:
    std::function<void(const std::string&)> tell_;
    std::mutex mutex_;
    std::set<std::pair<const Code*, std::int32_t>> told_;
};

}  // namespace bulkhead::sim
