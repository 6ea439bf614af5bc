#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bulkhead::nvjitlink {

using Image = std::span<const std::uint8_t>;

bool isElf(Image);
bool isArchive(Image);

/// The fatbins in an object file of the host, as nvcc leaves them there; none if it has none or is damaged.
std::vector<Image> fatbinsOfObject(Image);
/// Likewise of all objects in an archive.
std::vector<Image> fatbinsOfArchive(Image);

}  // namespace bulkhead::nvjitlink
