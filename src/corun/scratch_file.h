#pragma once

#include <string>

namespace bulkhead::corun {

/// A file that nobody else has, gone with this object.
class ScratchFile {
  public:
    /// Throws Error.
    ScratchFile();
    ~ScratchFile();
    ScratchFile(const ScratchFile&) = delete;
    ScratchFile& operator=(const ScratchFile&) = delete;
    const std::string& path() const { return path_; }

  private:
    std::string path_;
};

}  // namespace bulkhead::corun
