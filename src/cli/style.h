#pragma once

#include <string>

namespace bulkhead::cli {

/// Colors are for terminals, and not for people who set NO_COLOR (no-color.org).
bool hasColors(int fileDescriptor);

/// The text as it is, or made to stand out where `fileDescriptor` has colors.
std::string bold(const std::string&, int fileDescriptor);
std::string alarming(const std::string&, int fileDescriptor);

}  // namespace bulkhead::cli
