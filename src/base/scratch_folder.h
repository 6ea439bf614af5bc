#pragma once

#include <filesystem>
#include <string_view>

namespace bulkhead {

/// A folder of one's own among the temporary files: bulkhead-NAME-, and something that nobody else has.
std::filesystem::path makeScratchFolder(std::string_view name);

/// One that goes with all that is in it.
class ScratchFolder {
  public:
    explicit ScratchFolder(std::string_view name) : path_(makeScratchFolder(name)) {}
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

}  // namespace bulkhead
