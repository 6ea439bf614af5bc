#pragma once

#include <cstdint>
#include <string>

namespace bulkhead::dissect {

/// Writes a profile whose map is that of sim:gtx1080 in size, with random XOR functions. Returns its name for
/// Gpu::open.
std::string writeXorMap(const std::string& file, std::uint64_t seed);

/// Writes a small profile whose slices are of the H200's form: a random parity for the side, then a random scrambled
/// index modulo n. Returns its name for Gpu::open.
std::string writeResidueMap(const std::string& file, std::uint32_t modulus, std::uint64_t seed);

/// Writes a small profile with two sides whose slices follow a random table: no sum and no parity gives them.
std::string writeTableMap(const std::string& file, std::uint32_t slicesOfASide, std::uint64_t seed);

}  // namespace bulkhead::dissect
