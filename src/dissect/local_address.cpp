#include "dissect/local_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace bulkhead::dissect {
namespace {

std::uint64_t gather(const std::vector<Mask>& functions, std::uint64_t address) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < functions.size(); ++i)
        bits |= static_cast<std::uint64_t>(parity(address & functions[i])) << i;
    return bits;
}

std::uint64_t spread(const std::vector<Mask>& flips, std::uint64_t bits) {
    std::uint64_t address = 0;
    for (std::size_t i = 0; i < flips.size(); ++i)
        if ((bits >> i & 1) != 0) address ^= flips[i];
    return address;
}

std::vector<Mask> joined(const std::vector<Mask>& a, const std::vector<Mask>& b, const std::vector<Mask>& c) {
    std::vector<Mask> all = a;
    all.insert(all.end(), b.begin(), b.end());
    all.insert(all.end(), c.begin(), c.end());
    return all;
}

std::uint32_t power(std::uint32_t exponent, std::uint32_t modulus) {
    std::uint64_t p = 1 % modulus;
    for (std::uint32_t i = 0; i < exponent; ++i) p = 2 * p % modulus;
    return static_cast<std::uint32_t>(p);
}

}  // namespace

LocalAddresses::LocalAddresses(const ResidueHash& hash, const std::vector<std::size_t>& order, Mask bits)
    : modulus_(hash.modulus), groups_(hash.groups) {
    for (std::size_t i : order) index_.push_back(hash.parities[i].mask);
    Subspace known(joined(index_, groups_, {}));
    for (Mask rest = bits; rest != 0; rest &= rest - 1) {
        const Mask bit = rest & (~rest + 1);
        if (known.add(bit)) plain_.push_back(bit);
    }
    const std::vector<Mask> flips = dualFunctions(joined(index_, groups_, plain_), {}, bits);
    const auto afterIndex = flips.begin() + static_cast<std::ptrdiff_t>(index_.size());
    const auto afterGroups = afterIndex + static_cast<std::ptrdiff_t>(groups_.size());
    indexOf_.assign(flips.begin(), afterIndex);
    groupsOf_.assign(afterIndex, afterGroups);
    plainOf_.assign(afterGroups, flips.end());
    const std::uint64_t largest = ((std::uint64_t{1} << index_.size()) - 1) / modulus_;
    bits_ = bitRange(0, plainBits() + static_cast<unsigned>(std::bit_width(largest)));
}

Mask LocalAddresses::local(arch::PhysicalAddress address) const {
    return gather(plain_, address) | gather(index_, address) / modulus_ << plainBits();
}

std::uint32_t LocalAddresses::slice(arch::PhysicalAddress address) const {
    return static_cast<std::uint32_t>(gather(index_, address) % modulus_ + modulus_ * gather(groups_, address));
}

std::optional<arch::PhysicalAddress> LocalAddresses::address(Mask local, std::uint32_t slice) const {
    const std::uint64_t index = (local >> plainBits()) * modulus_ + slice % modulus_;
    if (index >> index_.size() != 0) return std::nullopt;
    return spread(plainOf_, local) ^ spread(indexOf_, index) ^ spread(groupsOf_, slice / modulus_);
}

std::optional<std::vector<arch::Digit>> LocalAddresses::digits(const Subspace& functions) const {
    std::vector<arch::Digit> list;
    std::optional<unsigned> previous;
    for (Mask f : functions.basis()) {
        const bool plain = f >> plainBits() == 0;
        if (!plain && !std::has_single_bit(f)) return std::nullopt;
        if (plain) {
            Mask mask = 0;
            for (unsigned i = 0; i < plainBits(); ++i)
                if ((f >> i & 1) != 0) mask ^= plain_[i];
            arch::Digit d;
            d.bits = {mask};
            list.push_back(std::move(d));
            continue;
        }
        const unsigned bit = static_cast<unsigned>(std::countr_zero(f)) - plainBits();
        if (previous && bit == *previous + 1) {
            list.back().modulus *= 2;  // one more bit of the same quotient
        } else {
            arch::Digit d;
            d.bits = index_;
            d.divisor = std::uint64_t{modulus_} << bit;
            d.modulus = 2;
            list.push_back(std::move(d));
        }
        previous = bit;
    }
    return list;
}

std::string LocalAddresses::describe(const Subspace& functions) const {
    std::string text;
    for (Mask f : functions.basis()) {
        std::string one;
        for (Mask rest = f; rest != 0; rest &= rest - 1) {
            const auto bit = static_cast<unsigned>(std::countr_zero(rest));
            one += one.empty() ? "" : "^";
            one += bit < plainBits() ? fmt::format("{}", std::countr_zero(plain_[bit]))
                                     : fmt::format("q{}", bit - plainBits());
        }
        text += (text.empty() ? "" : ", ") + one;
    }
    return text;
}

std::vector<std::vector<std::size_t>> indexOrders(const ResidueHash& hash) {
    constexpr std::size_t kMost = 5000;
    const auto count = hash.parities.size();
    const std::uint32_t n = hash.modulus;
    if (count == 0 || n < 3) return {};
    std::map<Mask, std::size_t> single;
    for (std::size_t i = 0; i < count; ++i)
        if (std::has_single_bit(hash.parities[i].mask)) single[hash.parities[i].mask] = i;
    if (single.empty()) return {};
    // The upper bits of the index, from the highest address bit down.
    std::vector<std::size_t> upper;
    for (Mask bit = single.rbegin()->first; single.contains(bit); bit >>= 1) upper.push_back(single[bit]);
    std::reverse(upper.begin(), upper.end());
    const std::size_t lower = count - upper.size();
    std::uint32_t unit = 1;
    const auto weight = [&](std::size_t i) {
        return static_cast<std::uint32_t>(std::uint64_t{hash.parities[i].weight} * unit % n);
    };
    while (unit < n && weight(upper.front()) != power(static_cast<std::uint32_t>(lower), n)) ++unit;
    for (std::size_t i = 0; i < upper.size(); ++i)
        if (weight(upper[i]) != power(static_cast<std::uint32_t>(lower + i), n)) return {};

    std::vector<std::size_t> scrambled;
    for (std::size_t i = 0; i < count; ++i)
        if (std::find(upper.begin(), upper.end(), i) == upper.end()) scrambled.push_back(i);
    // Bit by bit, every parity of the right weight that is left.
    std::vector<std::vector<std::size_t>> orders = {{}};
    for (std::size_t position = 0; position < lower; ++position) {
        std::vector<std::vector<std::size_t>> longer;
        for (const auto& order : orders)
            for (std::size_t i : scrambled) {
                if (weight(i) != power(static_cast<std::uint32_t>(position), n)) continue;
                if (std::find(order.begin(), order.end(), i) != order.end()) continue;
                longer.push_back(order);
                longer.back().push_back(i);
            }
        if (longer.size() > kMost) return {};
        orders = std::move(longer);
    }
    for (auto& order : orders) order.insert(order.end(), upper.begin(), upper.end());
    return orders;
}

}  // namespace bulkhead::dissect
