#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>

// clang knows managed variables for HIP alone, so `bulkhead cc` compiles them as variables of the device whose shadows
// on the host lie in a section of their own. The host uses the shadows as they are. Before device code is loaded its
// definitions are made declarations, and the driver is told that the variables are the shadows.

namespace bulkhead::cudart {

/// From its header: u32 magic, u16 version, u16 bytes of the header, u64 bytes behind it.
std::size_t fatbinBytes(const void* fatbin);

/// Writes what a variable begins with, as the PTX of a fatbin that `bulkhead cc` made defines it. False if it is not
/// defined there, or begins with an address that `addressOf` does not know.
bool writeInitialValue(const void* fatbin, std::string_view name, void* to, std::size_t bytes,
                       const std::function<const void*(std::string_view)>& addressOf);

/// The fatbin with these variables declared where it defined them.
std::string withoutDefinitions(const void* fatbin, const std::set<std::string, std::less<>>& names);

}  // namespace bulkhead::cudart
