#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/error.h"

namespace bulkhead::far_driver {

/// What goes to another process of this machine and build: values one after the other, as they are in memory.
class Message {
  public:
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        const auto bytes = std::as_bytes(std::span(&value, 1));
        putBytes(bytes.data(), bytes.size());
    }
    void putBytes(const void* from, std::size_t bytes) {
        const auto* first = static_cast<const std::uint8_t*>(from);
        bytes_.insert(bytes_.end(), first, first + bytes);
    }
    void putText(const std::string& text) {
        put(text.size());
        putBytes(text.data(), text.size());
    }

    /// Each throws Error where the message ends before.
    template <class T>
    T take() {
        static_assert(std::is_trivially_copyable_v<T>);
        if constexpr (std::is_same_v<T, bool>) {
            return take<std::uint8_t>() != 0;  // no other byte is one
        }
        T value;
        const auto bytes = std::as_writable_bytes(std::span(&value, 1));
        std::memcpy(bytes.data(), takeBytes(bytes.size()), bytes.size());
        return value;
    }
    /// They stay where they are until the message goes.
    const std::uint8_t* takeBytes(std::size_t bytes) {
        if (bytes > bytes_.size() - at_) throw Error("a message that ends too early");
        at_ += bytes;
        return bytes_.data() + at_ - bytes;
    }
    std::string takeText() {
        const auto bytes = take<std::size_t>();
        const auto* text = takeBytes(bytes);
        return {reinterpret_cast<const char*>(text), bytes};
    }
    std::size_t left() const { return bytes_.size() - at_; }

    std::vector<std::uint8_t>& bytes() { return bytes_; }
    const std::vector<std::uint8_t>& bytes() const { return bytes_; }

  private:
    std::vector<std::uint8_t> bytes_;
    std::size_t at_ = 0;
};

}  // namespace bulkhead::far_driver
