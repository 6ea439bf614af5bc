#pragma once

#include <bit>
#include <cassert>
#include <cstdint>
#include <vector>

namespace bulkhead::sim {

/// A bounded first-in first-out queue: the only thing that joins two units.
template <class T>
class Ring {
  public:
    explicit Ring(std::size_t capacity = 0) : capacity_(capacity), items_(std::bit_ceil(capacity + !capacity)) {}

    bool empty() const { return size_ == 0; }
    bool full() const { return size_ >= capacity_; }
    std::size_t size() const { return size_; }
    T& front() { return items_[head_]; }
    void push(const T& item) {
        assert(!full());
        items_[(head_ + size_++) & (items_.size() - 1)] = item;
    }
    T pop() {
        assert(!empty());
        const T item = items_[head_];
        head_ = (head_ + 1) & (items_.size() - 1);
        --size_;
        return item;
    }

  private:
    std::size_t capacity_, head_ = 0, size_ = 0;
    std::vector<T> items_;
};

}  // namespace bulkhead::sim
