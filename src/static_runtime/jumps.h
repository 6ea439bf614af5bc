#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::staticRuntime {

/// Code that is changed so that a function's first instruction leads elsewhere. The instruction is short, since some
/// functions have no room for more: it jumps to a page near by, whose code jumps any distance.
class Jumps {
  public:
    /// For as many functions of the code in [begin, end), which is writable from now on and not executable.
    Jumps(std::uintptr_t begin, std::uintptr_t end, std::size_t most);
    /// Makes the code executable again.
    ~Jumps();
    Jumps(const Jumps&) = delete;
    Jumps& operator=(const Jumps&) = delete;

    /// Whether the system let the code be changed.
    explicit operator bool() const { return isReady_; }
    /// False if the function is too short or lies outside of the code.
    bool lead(std::uintptr_t function, std::size_t bytes, const void* to);

  private:
    bool protect(int protection) const;

    std::uintptr_t begin_, end_;
    std::size_t most_, count_ = 0;
    char* near_ = nullptr;
    bool isReady_ = false;
};

}  // namespace bulkhead::staticRuntime
