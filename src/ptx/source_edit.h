#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::ptx {

/// Changes to a text, gathered in any order and made at once. Those at one place are made in the order they were given.
class SourceEdit {
  public:
    explicit SourceEdit(std::string_view source) : source_(source) {}

    void insert(const char* at, std::string text) { replace({at, 0}, std::move(text)); }
    /// `part` is a view into the source; no two of them overlap.
    void replace(std::string_view part, std::string text);
    std::string apply() const;

  private:
    struct Change {
        std::size_t at, length;
        std::string text;
    };
    std::string_view source_;
    std::vector<Change> changes_;
};

}  // namespace bulkhead::ptx
