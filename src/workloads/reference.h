#pragma once

#include <optional>
#include <utility>

namespace bulkhead::workloads {

/// What the CPU finds. It is computed at the first check and kept: every run has the same input.
template <class T>
class Reference {
  public:
    template <class Compute>
    const T& operator()(Compute&& compute) {
        if (!value_) value_.emplace(std::forward<Compute>(compute)());
        return *value_;
    }

  private:
    std::optional<T> value_;
};

}  // namespace bulkhead::workloads
