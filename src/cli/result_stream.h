#pragma once

#include <span>
#include <string>

#include "base/result.h"

namespace bulkhead::cli {

/// Results as one JSON document on standard output, each on a line of its own that is written when it is ready. What
/// reads lines has each result at once; what reads it all has a file of results.
class ResultStream {
  public:
    void add(const Result&);
    /// Ends the document. One that is not ended is cut off, as whatever was interrupted is.
    void end();

  private:
    void begin();

    bool begun_ = false;
    bool any_ = false;
};

/// Into a file, or as such a stream where it is "-".
void writeResults(const std::string& file, std::span<const Result>);

}  // namespace bulkhead::cli
