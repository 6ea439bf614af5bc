#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bulkhead::cli {

struct Outcome {
    int exitCode = -1;  ///< -1 if a signal ended it
    std::string out, err;
};

/// What a program finds around it.
struct Surroundings {
    std::optional<std::string> out;          ///< where standard output goes instead of into Outcome; empty: closed
    std::optional<std::uint64_t> diskBytes;  ///< where a file that is written becomes too large for the disk
    std::optional<unsigned> patienceS;       ///< after which it is ended
};

/// Runs the program with these arguments and waits for it.
Outcome run(const std::vector<std::string>& arguments, const Surroundings& = {});

/// Bad usage or input: exit code 2, nothing on standard output, one line on standard error that holds `part`.
void expectRefused(const std::vector<std::string>& arguments, const std::string& part, const Surroundings& = {});

}  // namespace bulkhead::cli
