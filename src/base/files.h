#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/units.h"

namespace bulkhead {

/// More than any text has that is read here, and little enough for memory.
inline constexpr Bytes kMostFileBytes = 256_MiB;

/// The whole of a file. What has no end of its own, a pipe or a device, is read like any other. Throws Error if it is
/// missing, a directory, unreadable, or has more than `most` bytes.
std::string readFile(const std::filesystem::path&, Bytes most = kMostFileBytes);

/// The first bytes of a file, `most` at most.
std::string readBeginning(const std::filesystem::path&, Bytes most);

/// Replaces a file in one step, and has it on the disk when it returns: readers see the old bytes or the new ones, also
/// after a crash, and a failure leaves the old.
void writeFile(const std::filesystem::path&, std::string_view bytes);

/// A run may take hours: throws Error beforehand if this file could not be written at its end, so that a refused run
/// leaves nothing behind.
void expectWritable(const std::string& path);

}  // namespace bulkhead
