#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace bulkhead::serve {

/// Results in a folder and the folders below it, as they are at the moment.
class ResultFiles {
  public:
    explicit ResultFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// Of each file that holds results, the newest first: {"file", "title", "answer", "gpu", "date", "results"}. A file
    /// is read once, and again when it has changed.
    nlohmann::ordered_json list();

    /// The file of this name. Throws Error if it is none of the folder's: a name that leads out of it, by dots or by a
    /// link, is none.
    std::filesystem::path find(const std::string& name) const;

  private:
    struct Known {
        std::filesystem::file_time_type changed;
        std::uintmax_t bytes = 0;
        nlohmann::ordered_json summary;  ///< null: no results
    };
    std::filesystem::path folder_;
    std::map<std::string, Known> known_;
};

/// Runs that a store keeps.
class KeptRuns {
  public:
    /// No name: there is none.
    explicit KeptRuns(std::filesystem::path folder) : folder_(std::move(folder)) {}

    const std::filesystem::path& folder() const { return folder_; }
    /// {"count", "runs": [{"name", "date"}]}, the newest first, and not more than a page shows.
    nlohmann::ordered_json list() const;
    /// What determined a run, and what it found, as a table. Throws Error.
    Result table(const std::string& name) const;

  private:
    std::filesystem::path folder_;
};

}  // namespace bulkhead::serve
