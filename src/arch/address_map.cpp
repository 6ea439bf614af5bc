#include "arch/address_map.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/json.h"
#include "base/parity.h"

namespace bulkhead::arch {

namespace {

using nlohmann::json;
__extension__ using Wide = unsigned __int128;

/// Digits stay below 2^63, so that a radix and a sum of digits never overflow.
constexpr std::size_t kMaxDigitBits = 63;

/// Byte tables that locate() reads without a loop: enough for hashes of 32 address bits.
constexpr unsigned kUnrolled = 4;

/// One more than the largest number that bits, divisor and modulus can give, before any table.
std::uint64_t indexRadix(const Digit& d) {
    const std::uint64_t largest = ((std::uint64_t{1} << d.bits.size()) - 1) / d.divisor;
    return d.modulus == 0 ? largest + 1 : std::min(largest + 1, d.modulus);
}

/// The same function of the address with powers of two in divisor and modulus turned into a choice of bits.
Digit simplified(Digit d) {
    if (d.modulus == 1) {
        d.bits.clear();
        d.divisor = 1;
    }
    if (std::has_single_bit(d.divisor)) {
        const std::size_t dropped = std::min(d.bits.size(), static_cast<std::size_t>(std::countr_zero(d.divisor)));
        d.bits.erase(d.bits.begin(), d.bits.begin() + static_cast<std::ptrdiff_t>(dropped));
        d.divisor = 1;
        if (std::has_single_bit(d.modulus)) {
            d.bits.resize(std::min(d.bits.size(), static_cast<std::size_t>(std::countr_zero(d.modulus))));
            d.modulus = 0;
        }
    }
    const std::uint64_t quotients = ((std::uint64_t{1} << d.bits.size()) - 1) / d.divisor + 1;
    if (d.modulus >= quotients) d.modulus = 0;
    return d;
}

bool isPlain(const Digit& d) {
    return d.divisor == 1 && d.modulus == 0 && d.table.empty();
}

/// Bits n, n+1, n+2...: the number is a field of the address.
bool isBitRange(const std::vector<std::uint64_t>& bits) {
    for (std::size_t i = 0; i < bits.size(); ++i)
        if (!std::has_single_bit(bits[i]) || (i > 0 && bits[i] != bits[i - 1] << 1)) return false;
    return !bits.empty();
}

bool isInjective(const std::vector<std::uint32_t>& table) {
    return std::set<std::uint32_t>(table.begin(), table.end()).size() == table.size();
}

/// A basis over GF(2), kept so that no two vectors share their highest bit.
class Basis {
  public:
    /// Adds a vector; false if it was in the span already.
    bool add(std::uint64_t v) {
        for (std::uint64_t b : vectors_) v = std::min(v, v ^ b);
        if (v == 0) return false;
        vectors_.push_back(v);
        return true;
    }

  private:
    std::vector<std::uint64_t> vectors_;
};

void check(const Digit& d, std::string_view role) {
    if (d.bits.empty()) throw Error("address map: {}: a digit has no bits", role);
    if (d.bits.size() > kMaxDigitBits)
        throw Error("address map: {}: a digit has {} bits, at most {} are possible", role, d.bits.size(),
                    kMaxDigitBits);
    if (std::find(d.bits.begin(), d.bits.end(), 0) != d.bits.end())
        throw Error("address map: {}: a digit has a bit that is the parity of nothing", role);
    if (d.divisor == 0) throw Error("address map: {}: div is 0, must be 1 or more", role);
    if (!d.table.empty() && d.table.size() != indexRadix(d))
        throw Error("address map: {}: table has {} entries, the number before it takes {} values", role, d.table.size(),
                    indexRadix(d));
}

/// The number of values a role takes.
std::uint64_t radixOf(const std::vector<Digit>& digits, std::string_view role, std::uint64_t limit) {
    Wide product = 1;
    for (const Digit& d : digits) {
        check(d, role);
        product *= d.radix();
        if (product > limit) throw Error("address map: {}: more than {} values", role, limit);
    }
    return static_cast<std::uint64_t>(product);
}

}  // namespace

std::uint64_t Digit::evaluate(PhysicalAddress address) const {
    std::uint64_t number = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) number |= std::uint64_t{parity(address & bits[i])} << i;
    number /= divisor;
    if (modulus != 0) number %= modulus;
    return table.empty() ? number : table[number];
}

std::uint64_t Digit::radix() const {
    return table.empty() ? indexRadix(*this) : std::uint64_t{*std::max_element(table.begin(), table.end())} + 1;
}

AddressMap::Divider::Divider(std::uint64_t d, std::uint64_t largest) : divisor(d) {
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    // With 2^64 / d rounded up, the error stays below 1/d for every 32-bit number.
    if (d > 1 && d <= limit && largest <= limit) reciprocal = std::numeric_limits<std::uint64_t>::max() / d + 1;
}

std::uint64_t AddressMap::Divider::quotient(std::uint64_t n) const {
    if (reciprocal != 0) return static_cast<std::uint64_t>((Wide{reciprocal} * n) >> 64);
    return divisor == 1 ? n : n / divisor;
}

std::uint64_t AddressMap::Divider::remainder(std::uint64_t n) const {
    return n - quotient(n) * divisor;
}

AddressMap::AddressMap(Roles roles) : roles_(std::move(roles)) {
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    slices_ = static_cast<std::uint32_t>(radixOf(roles_.slice, "slice", limit));
    sets_ = static_cast<std::uint32_t>(radixOf(roles_.set, "set", limit));
    banks_ = static_cast<std::uint32_t>(radixOf(roles_.bank, "bank", limit));
    radixOf(roles_.row, "row", std::numeric_limits<std::uint64_t>::max());
    if (roles_.slicesPerChannel == 0 || slices_ % roles_.slicesPerChannel != 0)
        throw Error("address map: slicesPerChannel = {} must divide the {} slices", roles_.slicesPerChannel, slices_);

    std::vector<std::vector<std::uint64_t>> words;  // the parities in each word, bit 0 first
    slice_ = compile(roles_.slice, words);
    set_ = compile(roles_.set, words);
    bank_ = compile(roles_.bank, words);
    row_ = compile(roles_.row, words);

    words_ = words.size();
    std::uint64_t used = 0;
    for (const auto& word : words)
        for (std::uint64_t bits : word) used |= bits;
    if (used != 0) {
        firstBit_ = static_cast<unsigned>(std::countr_zero(used));
        const unsigned lastBit = 63 - static_cast<unsigned>(std::countl_zero(used));
        // At least as many as locate() takes at once.
        byteCount_ = std::max(kUnrolled, (lastBit - firstBit_) / 8 + 1);
    }
    parities_.resize(std::size_t{byteCount_} * 256 * words_);
    for (unsigned byte = 0; byte < byteCount_; ++byte)
        for (std::uint64_t value = 0; value < 256; ++value)
            for (std::size_t w = 0; w < words_; ++w) {
                const unsigned shift = firstBit_ + 8 * byte;
                const std::uint64_t part = shift < 64 ? value << shift : 0;
                std::uint64_t packed = 0;
                for (std::size_t i = 0; i < words[w].size(); ++i)
                    packed |= std::uint64_t{parity(part & words[w][i])} << i;
                parities_[(byte * 256 + value) * words_ + w] = packed;
            }
    perChannel_ = Divider(roles_.slicesPerChannel, limit);

    for (unsigned shift = 0; shift < 64; ++shift) colorings_.push_back(findColoring(shift));
}

AddressMap::FieldRange AddressMap::compile(const std::vector<Digit>& digits,
                                           std::vector<std::vector<std::uint64_t>>& words) {
    // Neighbouring digits of parities alone are one number.
    std::vector<Digit> merged;
    for (const Digit& d : digits) {
        Digit s = simplified(d);
        if (isPlain(s) && !merged.empty() && isPlain(merged.back()) &&
            merged.back().bits.size() + s.bits.size() <= kMaxDigitBits)
            merged.back().bits.insert(merged.back().bits.end(), s.bits.begin(), s.bits.end());
        else
            merged.push_back(std::move(s));
    }

    FieldRange range;
    range.first = static_cast<std::uint32_t>(fields_.size());
    std::uint64_t weight = 1;
    for (const Digit& d : merged) {
        Field f;
        f.mask = (std::uint64_t{1} << d.bits.size()) - 1;
        if (isBitRange(d.bits)) {
            f.shift = static_cast<std::uint32_t>(std::countr_zero(d.bits.front()));
        } else if (!d.bits.empty()) {
            // Roles often take quotient and remainder of one number: its parities are kept once.
            bool placed = false;
            for (std::size_t w = 0; w < words.size() && !placed; ++w) {
                const auto at = std::search(words[w].begin(), words[w].end(), d.bits.begin(), d.bits.end());
                placed = at != words[w].end();
                if (placed) {
                    f.source = static_cast<std::uint32_t>(w + 1);
                    f.shift = static_cast<std::uint32_t>(at - words[w].begin());
                }
            }
            for (std::size_t w = 0; !placed; ++w) {
                if (w == words.size()) words.emplace_back();
                placed = words[w].size() + d.bits.size() <= 64;
                if (placed) {
                    f.source = static_cast<std::uint32_t>(w + 1);
                    f.shift = static_cast<std::uint32_t>(words[w].size());
                    words[w].insert(words[w].end(), d.bits.begin(), d.bits.end());
                }
            }
        }
        f.divide = Divider(d.divisor, f.mask);
        f.modulo = Divider(d.modulus == 0 ? 1 : d.modulus, f.mask);
        f.plain = isPlain(d);
        f.hasTable = !d.table.empty();
        f.table = static_cast<std::uint32_t>(tables_.size());
        tables_.insert(tables_.end(), d.table.begin(), d.table.end());
        f.weight = weight;
        weight *= d.radix();  // the last product may wrap, and is not used then
        fields_.push_back(f);
    }
    range.last = static_cast<std::uint32_t>(fields_.size());
    return range;
}

[[gnu::always_inline]] inline std::uint64_t AddressMap::gather(FieldRange range, const std::uint64_t* sources) const {
    std::uint64_t result = 0;
    for (const Field *f = fields_.data() + range.first, *end = fields_.data() + range.last; f != end; ++f) {
        std::uint64_t number = (sources[f->source] >> f->shift) & f->mask;
        if (!f->plain) {
            number = f->divide.quotient(number);
            if (f->modulo.divisor != 1) number = f->modulo.remainder(number);
            if (f->hasTable) number = tables_[f->table + number];
        }
        result += number * f->weight;
    }
    return result;
}

std::uint64_t AddressMap::combine(const std::vector<Digit>& digits, PhysicalAddress address) {
    std::uint64_t result = 0, weight = 1;
    for (const Digit& d : digits) {
        result += d.evaluate(address) * weight;
        weight *= d.radix();
    }
    return result;
}

AddressMap::Location AddressMap::locate(PhysicalAddress address) const {
    Location l{};
    if (words_ <= kMaxWords) {
        std::uint64_t sources[1 + kMaxWords];
        sources[0] = address;
        const std::uint64_t* table = parities_.data();
        std::uint64_t rest = address >> firstBit_;
        if (words_ == 1) {
            static_assert(kUnrolled == 4);
            std::uint64_t word = table[rest & 255] ^ table[256 + ((rest >> 8) & 255)] ^
                                 table[512 + ((rest >> 16) & 255)] ^ table[768 + ((rest >> 24) & 255)];
            for (unsigned byte = kUnrolled; byte < byteCount_; ++byte)
                word ^= table[byte * 256 + ((rest >> (8 * byte)) & 255)];
            sources[1] = word;
        } else {
            for (std::size_t w = 0; w < words_; ++w) sources[1 + w] = 0;
            for (unsigned byte = 0; byte < byteCount_; ++byte, rest >>= 8) {
                const std::uint64_t* entry = table + (byte * 256 + (rest & 255)) * words_;
                for (std::size_t w = 0; w < words_; ++w) sources[1 + w] ^= entry[w];
            }
        }
        l.slice = static_cast<std::uint32_t>(gather(slice_, sources));
        l.set = static_cast<std::uint32_t>(gather(set_, sources));
        l.bank = static_cast<std::uint32_t>(gather(bank_, sources));
        l.row = gather(row_, sources);
    } else {
        l.slice = static_cast<std::uint32_t>(combine(roles_.slice, address));
        l.set = static_cast<std::uint32_t>(combine(roles_.set, address));
        l.bank = static_cast<std::uint32_t>(combine(roles_.bank, address));
        l.row = combine(roles_.row, address);
    }
    l.channel = static_cast<std::uint32_t>(perChannel_.quotient(l.slice));
    return l;
}

namespace {

/// Gaussian elimination of the bits of a page's offset from parities.
class OffsetElimination {
  public:
    explicit OffsetElimination(std::uint64_t offsetBits) : offsetBits_(offsetBits) {}

    /// The parity combined with earlier ones so that no offset bit enters it, or nothing if that is not possible.
    std::optional<std::uint64_t> without(std::uint64_t parity) {
        for (std::uint64_t pivot : pivots_)
            if ((parity & lowestOffsetBit(pivot)) != 0) parity ^= pivot;
        const std::uint64_t own = lowestOffsetBit(parity);
        if (own == 0) return parity;
        for (std::uint64_t& pivot : pivots_)
            if ((pivot & own) != 0) pivot ^= parity;
        pivots_.push_back(parity);
        return std::nullopt;
    }

  private:
    std::uint64_t lowestOffsetBit(std::uint64_t parity) const {
        const std::uint64_t low = parity & offsetBits_;
        return low & (~low + 1);
    }

    std::uint64_t offsetBits_;
    std::vector<std::uint64_t> pivots_;  ///< parities that an offset bit enters which enters no other of them
};

/// Whether a digit is as good as its parities: each of its values is one of theirs.
bool isLinear(const Digit& d) {
    return d.divisor == 1 && d.modulus == 0 && (d.table.empty() || isInjective(d.table));
}

/// Whether no offset bit enters a digit, and its table, if it has one, holds every number below its radix.
bool tellsPagesApart(const Digit& d, std::uint64_t offsetBits) {
    const auto isOfPage = [&](std::uint64_t parity) { return (parity & offsetBits) == 0; };
    return std::ranges::all_of(d.bits, isOfPage) &&
           (d.table.empty() || std::set<std::uint32_t>(d.table.begin(), d.table.end()).size() == d.radix());
}

}  // namespace

/// Slices that are parities alone: the page offset reaches a subspace of the slice numbers, and its cosets are the
/// colors. The parities that tell cosets apart are the combinations of slice parities that no offset bit enters.
/// A digit with a modulus or a table takes part only if no offset bit enters it at all and it is independent of the
/// rest; otherwise it is left out, which can only merge colors.
AddressMap::Coloring AddressMap::findColoring(unsigned pageShift) const {
    const std::uint64_t offsetBits = (std::uint64_t{1} << pageShift) - 1;
    Coloring c;
    std::vector<Digit> others;
    OffsetElimination offset(offsetBits);
    Basis basis;  // of what has become part of the coloring
    for (const Digit& digit : roles_.slice) {
        Digit d = simplified(digit);
        if (!isLinear(d)) {
            others.push_back(std::move(d));
            continue;
        }
        for (std::uint64_t parity : d.bits)
            if (const auto ofPage = offset.without(parity); ofPage && basis.add(*ofPage)) c.parities.push_back(*ofPage);
    }
    std::uint64_t count = std::uint64_t{1} << c.parities.size();
    for (Digit& d : others) {
        if (!tellsPagesApart(d, offsetBits)) continue;
        Basis extended = basis;
        if (!std::ranges::all_of(d.bits, [&](std::uint64_t v) { return extended.add(v); })) continue;
        basis = extended;
        count *= d.radix();
        c.digits.push_back(std::move(d));
    }
    c.count = static_cast<std::uint32_t>(count);
    return c;
}

const AddressMap::Coloring& AddressMap::coloring(Bytes pageBytes) const {
    static const Coloring single;
    if (!std::has_single_bit(pageBytes)) throw Error("a page of {} bytes: the size must be a power of two", pageBytes);
    return colorings_.empty() ? single : colorings_[static_cast<std::size_t>(std::countr_zero(pageBytes))];
}

std::uint32_t AddressMap::colors(Bytes pageBytes) const {
    return coloring(pageBytes).count;
}

std::uint32_t AddressMap::color(PhysicalAddress address, Bytes pageBytes) const {
    const Coloring& c = coloring(pageBytes);
    std::uint64_t result = 0, weight = 1;
    for (std::uint64_t v : c.parities) {
        if (parity(address & v)) result += weight;
        weight *= 2;
    }
    for (const Digit& d : c.digits) {
        result += d.evaluate(address) * weight;
        weight *= d.radix();
    }
    return static_cast<std::uint32_t>(result);
}

namespace {

std::uint64_t readUnsigned(const json& value, std::string_view what, std::uint64_t largest) {
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() > largest)
        throw Error("address map: {}: must be an integer from 0 to {}", what, largest);
    return value.get<std::uint64_t>();
}

std::uint64_t readBit(const json& value, std::string_view role) {
    return std::uint64_t{1} << readUnsigned(value, fmt::format("{}: address bit", role), 63);
}

/// The parity of a list of address bits.
std::uint64_t readParity(const json& list, std::string_view role) {
    if (!list.is_array()) throw Error("address map: {}: xor must be a list of lists of address bits", role);
    std::uint64_t bits = 0;
    for (const json& bit : list) {
        const std::uint64_t one = readBit(bit, role);
        if ((bits & one) != 0)
            throw Error("address map: {}: address bit {} is twice in one xor list", role, jsonQuoted(bit));
        bits |= one;
    }
    return bits;
}

std::vector<std::uint64_t> readXor(const json& lists, std::string_view role) {
    if (!lists.is_array()) throw Error("address map: {}: xor must be a list of lists of address bits", role);
    std::vector<std::uint64_t> parities;
    for (const json& list : lists) parities.push_back(readParity(list, role));
    return parities;
}

std::vector<std::uint64_t> readBitRange(const json& range, std::string_view role) {
    if (!range.is_array() || range.size() != 2)
        throw Error("address map: {}: bits must be [lowest, highest] address bit", role);
    const std::uint64_t first = readBit(range[0], role), last = readBit(range[1], role);
    if (first > last) throw Error("address map: {}: bits must be [lowest, highest] address bit", role);
    std::vector<std::uint64_t> bits;
    for (std::uint64_t bit = first; bit != 0 && bit <= last; bit <<= 1) bits.push_back(bit);
    return bits;
}

std::vector<std::uint32_t> readTable(const json& numbers, std::string_view role) {
    if (!numbers.is_array() || numbers.empty()) throw Error("address map: {}: table must be a list of integers", role);
    std::vector<std::uint32_t> table;
    for (const json& number : numbers)
        table.push_back(static_cast<std::uint32_t>(
            readUnsigned(number, fmt::format("{}: table entry", role), std::numeric_limits<std::int32_t>::max())));
    return table;
}

Digit readDigit(const json& value, std::string_view role) {
    if (!value.is_object()) throw Error("address map: {}: a digit must be an object with xor or bits", role);
    if (value.contains("xor") == value.contains("bits"))
        throw Error("address map: {}: a digit needs either xor or bits", role);
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
    Digit d;
    for (const auto& [key, entry] : value.items()) {
        if (key == "xor") {
            d.bits = readXor(entry, role);
        } else if (key == "bits") {
            d.bits = readBitRange(entry, role);
        } else if (key == "div") {
            d.divisor = readUnsigned(entry, fmt::format("{}: div", role), kLargest);
        } else if (key == "mod") {
            d.modulus = readUnsigned(entry, fmt::format("{}: mod", role), kLargest);
            if (d.modulus == 0) throw Error("address map: {}: mod is 0, must be 1 or more", role);
        } else if (key == "table") {
            d.table = readTable(entry, role);
        } else {
            throw Error("address map: {}: unknown key {} in a digit (keys: xor, bits, div, mod, table)", role, key);
        }
    }
    return d;
}

json bitNumbers(std::uint64_t bits) {
    json list = json::array();
    for (; bits != 0; bits &= bits - 1) list.push_back(std::countr_zero(bits));
    return list;
}

json writeDigit(const Digit& d) {
    json value = json::object();
    if (isBitRange(d.bits)) {
        value["bits"] = {std::countr_zero(d.bits.front()), std::countr_zero(d.bits.back())};
    } else {
        json& lists = value["xor"] = json::array();
        for (std::uint64_t bits : d.bits) lists.push_back(bitNumbers(bits));
    }
    if (d.divisor != 1) value["div"] = d.divisor;
    if (d.modulus != 0) value["mod"] = d.modulus;
    if (!d.table.empty()) value["table"] = d.table;
    return value;
}

}  // namespace

AddressMap AddressMap::fromJson(const json& value) {
    if (!value.is_object()) throw Error("address map: must be an object with slice, set, bank, row");
    Roles roles;
    for (const auto& [key, entry] : value.items()) {
        if (key == "slicesPerChannel") {
            roles.slicesPerChannel = static_cast<std::uint32_t>(
                readUnsigned(entry, "slicesPerChannel", std::numeric_limits<std::uint32_t>::max()));
            continue;
        }
        std::vector<Digit>* digits = key == "slice"  ? &roles.slice
                                     : key == "set"  ? &roles.set
                                     : key == "bank" ? &roles.bank
                                     : key == "row"  ? &roles.row
                                                     : nullptr;
        if (digits == nullptr)
            throw Error("address map: unknown key {} (keys: slice, set, bank, row, slicesPerChannel)", key);
        if (!entry.is_array()) throw Error("address map: {} must be a list of digits", key);
        for (const json& digit : entry) digits->push_back(readDigit(digit, key));
    }
    for (const char* role : {"slice", "set", "bank", "row"})
        if (!value.contains(role)) throw Error("address map: {} is missing (an empty list means there is one)", role);
    return AddressMap(std::move(roles));
}

json AddressMap::toJson() const {
    const auto write = [](const std::vector<Digit>& digits) {
        json list = json::array();
        for (const Digit& d : digits) list.push_back(writeDigit(d));
        return list;
    };
    return {{"slice", write(roles_.slice)},
            {"set", write(roles_.set)},
            {"bank", write(roles_.bank)},
            {"row", write(roles_.row)},
            {"slicesPerChannel", roles_.slicesPerChannel}};
}

}  // namespace bulkhead::arch
