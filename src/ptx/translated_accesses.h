#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ptx/module.h"

namespace bulkhead::ptx {

/// Moves every access of device code into a window of addresses to where its bytes really are.
struct AccessTranslation {
    std::uint64_t base = 0, bytes = 0;  ///< the window; addresses outside stay as they are
    std::string declarations;           ///< registers that `translate` uses, declared once a function
    /// PTX that computes the .b64 register `to`, an offset from the window's base, from the .b64 register `from`, an
    /// offset into the window. May change no other register than `to` and those it declared.
    std::function<std::string(std::string_view from, std::string_view to)> translate;
};

/// The memory walls of a driver that nobody patched: the module with each of its global and generic loads, stores and
/// atomics translated. An access must lie within one piece that moves as a whole, as aligned ones do.
std::string withTranslatedAccesses(const Module&, const AccessTranslation&);

}  // namespace bulkhead::ptx
