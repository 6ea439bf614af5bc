#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace bulkhead {

/// The whole of a file. Throws Error if it is missing, not a regular file, or unreadable.
std::string readFile(const std::filesystem::path&);

/// Replaces a file in one step: readers see the old bytes or the new ones, and a failure leaves the old.
void writeFile(const std::filesystem::path&, std::string_view bytes);

/// Parses JSON; `where` begins the message of the Error, which names line and column.
nlohmann::json parseJson(std::string_view text, const std::string& where);

/// A run may take hours: throws Error beforehand if this file could not be written at its end, so that a refused run
/// leaves nothing behind.
void expectWritable(const std::string& path);

}  // namespace bulkhead
