#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "dissect/residue_hash.h"

namespace bulkhead::dissect {
namespace {

std::uint32_t times(std::uint64_t a, std::uint64_t b, std::uint32_t modulus) {
    return static_cast<std::uint32_t>(a * b % modulus);
}

std::uint32_t negative(std::uint32_t a, std::uint32_t modulus) {
    return a == 0 ? 0 : modulus - a;
}

/// Which parity is bit i of the index, for weights multiplied by `unit`; empty if they are not powers of two, each
/// once. Where signs are free, a weight may count down instead.
std::vector<std::size_t> indexOrder(const ResidueHash& hash, std::uint32_t unit, bool signsFree) {
    const std::uint32_t n = hash.modulus;
    std::vector<std::size_t> byMask(hash.parities.size());
    std::iota(byMask.begin(), byMask.end(), std::size_t{0});
    std::sort(byMask.begin(), byMask.end(), [&](std::size_t a, std::size_t b) {
        return std::bit_floor(hash.parities[a].mask) < std::bit_floor(hash.parities[b].mask);
    });
    std::vector<bool> taken(hash.parities.size(), false);
    std::vector<std::size_t> order;
    std::uint32_t power = 1 % n;
    for (std::size_t position = 0; position < hash.parities.size(); ++position, power = times(power, 2, n)) {
        const auto fits = [&](std::size_t i) {
            const std::uint32_t w = times(hash.parities[i].weight, unit, n);
            return !taken[i] && (w == power || (signsFree && w == negative(power, n)));
        };
        const auto found = std::find_if(byMask.begin(), byMask.end(), fits);
        if (found == byMask.end()) return {};
        taken[*found] = true;
        order.push_back(*found);
    }
    return order;
}

/// Multiplies every slice number, which only renames slices.
void scale(ResidueHash& hash, std::uint32_t unit) {
    for (WeightedParity& p : hash.parities) p.weight = times(p.weight, unit, hash.modulus);
    hash.page.addend = times(hash.page.addend, unit, hash.modulus);
    for (std::uint32_t& r : hash.residueOf) r = times(r, unit, hash.modulus);
}

void reorder(ResidueHash& hash, const std::vector<std::size_t>& order) {
    std::vector<WeightedParity> parities;
    std::uint32_t flips = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        parities.push_back(hash.parities[order[i]]);
        flips |= (hash.page.flips >> order[i] & 1) << i;
    }
    hash.parities = std::move(parities);
    hash.page.flips = flips;
}

/// w v = w + (-w)(1 - v): gives every parity the sign of its power of two.
void turnSigns(ResidueHash& hash) {
    const std::uint32_t n = hash.modulus;
    std::uint32_t power = 1 % n;
    for (std::size_t i = 0; i < hash.parities.size(); ++i, power = times(power, 2, n)) {
        if (hash.parities[i].weight == power) continue;
        hash.page.addend = (hash.page.addend + hash.parities[i].weight) % n;
        hash.page.flips ^= std::uint32_t{1} << i;
        hash.parities[i].weight = power;
    }
}

/// Renames slices so that the page has no addend.
void takeAddendAway(ResidueHash& hash) {
    for (std::uint32_t& r : hash.residueOf) r = (r + hash.modulus - hash.page.addend) % hash.modulus;
    hash.page.addend = 0;
}

}  // namespace

std::uint64_t ResidueDigits::pageAddress(const PageLabel& label) const {
    const std::uint64_t address = std::uint64_t{label.flips} << flipsShift | std::uint64_t{label.groupFlips}
                                                                                 << groupShift;
    for (std::uint64_t a = 0; a < modulus; ++a)
        if (times(a, addendUnit, modulus) == label.addend) return address | a << addendShift;
    throw Error("a page's label adds {}, which no address bits above the page can make", label.addend);
}

std::optional<ResidueDigits> residueDigits(ResidueHash& hash, std::optional<unsigned> labelShift) {
    const std::uint32_t n = hash.modulus;
    if (n != 1 && hash.table.empty()) {
        std::vector<std::size_t> order;
        std::uint32_t unit = 1;
        for (; unit < n && order.empty(); ++unit)
            if (std::gcd(unit, n) == 1) order = indexOrder(hash, unit, labelShift.has_value());
        if (order.empty()) return std::nullopt;
        scale(hash, unit - 1);
        reorder(hash, order);
        turnSigns(hash);
        takeAddendAway(hash);
    }
    if (!labelShift) {
        for (std::uint32_t& group : hash.groupOf) group ^= hash.page.groupFlips;
        hash.page.groupFlips = 0;
    }

    ResidueDigits digits;
    digits.modulus = n;
    arch::Digit index, groups;
    for (const WeightedParity& p : hash.parities) index.bits.push_back(p.mask);
    if (hash.table.empty()) {
        index.modulus = n;
    } else {
        index.table = hash.table;
    }
    groups.bits = hash.groups;
    if (labelShift) {
        const auto count = static_cast<unsigned>(hash.parities.size());
        const auto groupCount = static_cast<unsigned>(hash.groups.size());
        digits.flipsShift = *labelShift;
        digits.groupShift = digits.flipsShift + count;
        digits.addendShift = digits.groupShift + groupCount;
        for (unsigned i = 0; i < count; ++i) index.bits[i] |= Mask{1} << (digits.flipsShift + i);
        for (unsigned i = 0; i < groupCount; ++i) groups.bits[i] |= Mask{1} << (digits.groupShift + i);
        for (unsigned i = 0; i < count; ++i) digits.addendUnit = times(digits.addendUnit, 2, n);
        for (unsigned i = 0; hash.table.empty() && i < static_cast<unsigned>(std::bit_width(n - 1)); ++i)
            index.bits.push_back(Mask{1} << (digits.addendShift + i));
    }
    if (n != 1) digits.slice.push_back(index);
    if (!groups.bits.empty()) digits.slice.push_back(groups);
    return digits;
}

}  // namespace bulkhead::dissect
