#pragma once

#include <functional>
#include <memory>

namespace bulkhead {

/// An open file of this process alone: closed in the child of a fork, where O_CLOEXEC would keep it. A lock lasts as
/// long as anybody has its file open, so a child would hold on to what its dead parent had.
class OwnDescriptor {
  public:
    OwnDescriptor();
    /// What `open` opens: no other thread forks meanwhile. None if it fails; errno tells why.
    explicit OwnDescriptor(const std::function<int()>& open);
    ~OwnDescriptor();
    OwnDescriptor(OwnDescriptor&&) noexcept;
    OwnDescriptor& operator=(OwnDescriptor&&) noexcept;

    /// -1 where there is none, as in a child.
    int get() const;
    explicit operator bool() const { return get() >= 0; }

    struct Entry;

  private:
    void reset();
    std::unique_ptr<Entry> entry_;
};

}  // namespace bulkhead
