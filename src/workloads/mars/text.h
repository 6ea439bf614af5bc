#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace bulkhead::workloads::mars {

/// Ranks of which the n-th is drawn in proportion to 1/n, as words of a language and pages of a site are.
class Zipf {
  public:
    explicit Zipf(std::size_t ranks);
    std::size_t draw(Random&) const;

  private:
    std::vector<double> cumulative_;
};

/// Distinct words of small letters, those of low rank shorter.
std::vector<std::string> vocabulary(Random&, std::size_t words);

/// Lines of words with spaces and some punctuation, exactly that many bytes with the last newline.
std::string prose(Random&, std::size_t bytes);

/// Lines of URL, address and cookie with tabs between them, exactly that many bytes (at least 1 KiB). URLs and visitors
/// are skewed, and some lines come more than once.
std::string webLog(Random&, std::size_t bytes);

/// A piece of a text.
struct Span {
    std::size_t offset, size;
};

/// HTML documents one after the other, of very different sizes, with links to the same skewed URLs.
struct WalledGpu {
    std::string text;
    std::vector<Span> documents;
};
WalledGpu htmlDocuments(Random&, std::size_t bytes);

/// Cuts a text behind the first `end` that follows at least that many bytes, again and again.
std::vector<Span> cut(std::string_view text, std::size_t bytes, char end);

}  // namespace bulkhead::workloads::mars
