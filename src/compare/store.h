#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "compare/run.h"

namespace bulkhead::compare {

/// Runs that have ended, one file each in a folder, so that an interrupted comparison goes on where it was. A file is
/// found by everything that determines its run: the specification, the profile's content and the program.
class Store {
  public:
    /// `program` tells builds apart whose results may differ, as simulatorSources() does. Makes the folder where it is
    /// missing. Throws Error.
    Store(std::filesystem::path folder, std::string program);

    std::optional<RunFigures> find(const RunSpec&) const;
    void keep(const RunSpec&, const RunFigures&) const;
    std::filesystem::path fileOf(const RunSpec&) const;

  private:
    nlohmann::ordered_json identity(const RunSpec&) const;

    std::filesystem::path folder_;
    std::string program_;
};

/// What tells builds apart whose results may differ: a number that stands for the sources of the simulator and of the
/// workloads. Builds of the same sources find the same, on any machine.
std::string simulatorSources();

/// A number that stands for a text: 64-bit FNV-1a, in hexadecimal.
std::string fingerprint(std::string_view bytes);

}  // namespace bulkhead::compare
