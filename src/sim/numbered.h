#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "base/error.h"

namespace bulkhead::sim {

/// Things with a number, from 1 on. They stay where they are in memory until they are forgotten, in any order; numbers
/// are not used again.
template <class T>
class Numbered {
  public:
    /// The number of what is added next.
    std::uint32_t next() const { return first_ + static_cast<std::uint32_t>(things_.size()); }
    T& add(T thing) { return *things_.emplace_back(std::move(thing)); }

    bool has(std::uint32_t number) const {
        return number >= first_ && number < next() && things_[number - first_].has_value();
    }
    T& operator[](std::uint32_t number) { return *things_[number - first_]; }
    const T& operator[](std::uint32_t number) const { return *things_[number - first_]; }
    const T& at(std::uint32_t number) const {
        if (!has(number)) throw Error("number {} has been forgotten, or was never given", number);
        return (*this)[number];
    }
    void forget(std::uint32_t number) {
        if (!has(number)) return;
        things_[number - first_].reset();
        for (; !things_.empty() && !things_.front(); ++first_) things_.pop_front();
    }

    template <class Visit>
    void each(Visit visit) {
        for (std::optional<T>& thing : things_)
            if (thing) visit(*thing);
    }

  private:
    std::deque<std::optional<T>> things_;
    std::uint32_t first_ = 1;
};

}  // namespace bulkhead::sim
