#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "dissect/memory_view.h"
#include "dissect/residue_hash.h"
#include "dissect/sides.h"

namespace bulkhead::dissect {

/// Memory whose slices are known, from the labels of its pages or from physical addresses.
class LabelledPages {
  public:
    std::uint64_t base = 0;  ///< of the first page
    ResidueHash form;
    bool sided = false;  ///< the form's first group is the side
    std::vector<std::optional<PageLabel>> labels;
    const MemoryView* physical = nullptr;  ///< in place of labels

    Bytes bytes() const { return physical != nullptr ? physical->bytes() - kPageBytes : labels.size() * kPageBytes; }
    /// Of the address at an offset from the base; empty if its page has no label.
    std::optional<std::uint32_t> slice(std::uint64_t offset) const {
        if (physical != nullptr) return number(physical->physical(base + offset), {});
        const auto& label = labels[offset >> kPageShift];
        return label ? std::optional(number(offset & (kPageBytes - 1), *label)) : std::nullopt;
    }
    unsigned sideOfSlice(std::uint32_t slice) const { return sided ? slice / form.modulus & 1 : 0; }
    /// The address of a random line whose slice is wanted. Throws Error if there seems to be none.
    std::uint64_t line(Random& random, Bytes lineBytes, const std::function<bool(std::uint32_t)>& wanted) const {
        constexpr int kTries = 10'000'000;
        for (int i = 0; i < kTries; ++i) {
            const std::uint64_t offset = random.below(bytes() / lineBytes) * lineBytes;
            const auto at = slice(offset);
            if (at && wanted(*at)) return base + offset;
        }
        throw Error("the memory that is probed has no line of a slice");
    }

  private:
    std::uint32_t number(std::uint64_t address, const PageLabel& label) const {
        return form.residue(address, label) + form.modulus * form.group(address, label);
    }
};

}  // namespace bulkhead::dissect
