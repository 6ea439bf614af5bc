#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ptx/module.h"
#include "ptx/refusals.h"

namespace bulkhead::ptx {

/// Moves every access of device code into a window of addresses to where its bytes really are.
struct AccessTranslation {
    static constexpr std::uint64_t kAlignment = std::uint64_t{1} << 32;

    std::uint64_t base = 0;    ///< of the window, a multiple of kAlignment
    std::uint64_t bytes = 0;   ///< addresses outside stay as they are
    bool seesBase = true;      ///< `translate` looks at bits that are the base's: they are taken away first
    std::string declarations;  ///< registers that `translate` uses, declared once a function
    std::string constants;     ///< constant memory that it reads, declared once a module

    /// Registers of an access that is to be translated.
    struct Registers {
        std::string_view address;  ///< .b64
        std::string_view inside;   ///< .pred: whether the address is in the window; empty where it is taken to be
        std::string_view low;      ///< .b32: the lower half of the offset into the window, meaningful where inside
        std::string_view high;     ///< .b32: the upper half; unless it sees the base, maybe with bits of that
        /// PTX that makes two halves of a real address the address, if it is inside; `scratch` is a .b64.
        std::string moved(std::string_view lower, std::string_view upper, std::string_view scratch) const;
    };
    /// PTX that puts the real address into the address register if the predicate is true or there is none, and leaves
    /// it alone otherwise. May change no other register but those it declared. Where there is no predicate, the
    /// arithmetic of a faulty program may have led out of the window: whatever the offset, the real address must be one
    /// that the program may use.
    std::function<std::string(const Registers&)> translate;
};

/// Bytes of constant memory that a module's own variables leave.
std::uint64_t constantBytesLeft(const Module&);

/// The memory walls of a driver that nobody patched: the module with each of its global and generic loads, stores,
/// atomics and asynchronous copies translated. An access must lie within one piece that moves as a whole, as aligned
/// ones do. Variables of the module stay where they are.
///
/// A kernel gets two bodies where that saves instructions: one for launches whose pointers are all in the window, which
/// does not look at them again, and one for all others. Refuses kernels with accesses that cannot be translated: bulk
/// copies, textures, surfaces.
RewrittenModule withTranslatedAccesses(const Module&, const AccessTranslation&);

}  // namespace bulkhead::ptx
