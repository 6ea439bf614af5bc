#include "base/own_descriptor.h"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "base/error.h"

namespace bulkhead {

struct OwnDescriptor::Entry {
    int descriptor = -1;
    Entry *previous = nullptr, *next = nullptr;
};

namespace {

/// All of this process. Never destroyed: some are kept until the very end. A list, as a child may not allocate.
struct Registry {
    std::mutex mutex;
    OwnDescriptor::Entry* first = nullptr;
};

Registry& registry() {
    static auto* const one = new Registry;
    return *one;
}

void beforeFork() {
    registry().mutex.lock();
}

void inParent() {
    registry().mutex.unlock();
}

void inChild() {
    for (auto* entry = registry().first; entry != nullptr; entry = entry->next)
        ::close(std::exchange(entry->descriptor, -1));
    registry().mutex.unlock();
}

void watchForks() {
    static const int failed = ::pthread_atfork(beforeFork, inParent, inChild);
    if (failed != 0) throw Error("out of memory");
}

}  // namespace

OwnDescriptor::OwnDescriptor() = default;

OwnDescriptor::OwnDescriptor(const std::function<int()>& open) {
    watchForks();
    auto entry = std::make_unique<Entry>();
    const std::lock_guard lock(registry().mutex);
    entry->descriptor = open();
    if (entry->descriptor < 0) return;
    entry_ = std::move(entry);
    entry_->next = std::exchange(registry().first, entry_.get());
    if (entry_->next != nullptr) entry_->next->previous = entry_.get();
}

void OwnDescriptor::reset() {
    if (!entry_) return;
    {
        const std::lock_guard lock(registry().mutex);
        (entry_->previous != nullptr ? entry_->previous->next : registry().first) = entry_->next;
        if (entry_->next != nullptr) entry_->next->previous = entry_->previous;
    }
    if (entry_->descriptor >= 0) ::close(entry_->descriptor);
    entry_.reset();
}

OwnDescriptor::~OwnDescriptor() {
    reset();
}

OwnDescriptor::OwnDescriptor(OwnDescriptor&&) noexcept = default;

OwnDescriptor& OwnDescriptor::operator=(OwnDescriptor&& other) noexcept {
    if (this != &other) {
        reset();
        entry_ = std::move(other.entry_);
    }
    return *this;
}

int OwnDescriptor::get() const {
    return entry_ ? entry_->descriptor : -1;
}

}  // namespace bulkhead
