#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace bulkhead::serve {

struct Settings {
    std::filesystem::path folder;  ///< of results, with an absolute name
    std::filesystem::path store;   ///< of runs; no name: there is none
    std::uint16_t port = 0;        ///< 0: any that is free
    std::string program;           ///< this one, for the commands that it runs
    std::string version;
    /// What the command line has against these words; empty: nothing.
    std::function<std::string(const std::vector<std::string>&)> refuse;
    /// Whether a GPU finds the same each time, as simulated ones do.
    std::function<bool(const std::string& gpu)> isRepeatable;
    /// Told the address with its token once it can be opened.
    std::function<void(const std::string& address)> ready;
};

/// Answers browsers of this machine until it is interrupted; then ends the commands that it runs. Throws Error if the
/// port is taken.
void serve(const Settings&);

}  // namespace bulkhead::serve
