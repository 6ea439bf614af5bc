#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace bulkhead::golden {

/// What an H200 answered for one variant.
struct Recorded {
    std::uint32_t inputHash;
    std::vector<std::uint64_t> outputs;  ///< tuple after tuple
};

/// By the variant's name: all of h200.bin, which run_on_gpu.cpp wrote.
const std::map<std::string, Recorded>& recordings();

/// Of a variant's inputs: another hash means others than were recorded.
std::uint32_t hashOf(const std::vector<std::uint64_t>& inputs);

}  // namespace bulkhead::golden
