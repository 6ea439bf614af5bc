#include "gpgpusim/memory_map.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "base/error.h"

namespace bulkhead::gpgpusim {
namespace {

using arch::Digit;

constexpr unsigned kDividedBits = 32;  ///< of an address from the channel's bit on, where it is divided
constexpr unsigned kTopBit = 40;       ///< beyond any memory that is simulated

unsigned log2Of(std::int64_t powerOfTwo) {
    return static_cast<unsigned>(std::countr_zero(static_cast<std::uint64_t>(powerOfTwo)));
}

bool isPowerOfTwo(std::int64_t n) {
    return std::has_single_bit(static_cast<std::uint64_t>(n));
}

/// The polynomial by which GPGPU-Sim hashes that many bits, and how many higher bits take part
/// (src/gpgpu-sim/hashing.cc, after Rau, ISCA 1991).
struct Polynomial {
    unsigned degree, low, higherBits;  ///< low: the terms below x^degree
};
constexpr Polynomial kPolynomials[] = {{4, 0b0011, 13}, {5, 0b00101, 15}, {6, 0b000011, 19}};

/// Which of the `degree` bits of the hash the higher bits flip: [higher bit] = mask. Nothing for sizes without one.
std::optional<std::vector<unsigned>> polynomialHash(unsigned degree) {
    for (const Polynomial& p : kPolynomials) {
        if (p.degree != degree) continue;
        std::vector<unsigned> flips;
        unsigned power = p.low;  // x^degree
        for (unsigned i = 0; i < p.higherBits; ++i) {
            flips.push_back(power);
            power <<= 1;
            if (power >> degree != 0) power = (power ^ p.low) & ((1u << degree) - 1);
        }
        return flips;
    }
    return std::nullopt;
}

/// Makes digits of the bits of an address from which the channel was taken out ("local" bits below).
class Layout {
  public:
    Layout(const AddressBits& bits, const MemoryShape& shape, bool hashDivided)
        : bits_(bits), shape_(shape), divides_(!isPowerOfTwo(shape.channels)), hash_(hashDivided) {
        if (bits.channelBit < 0) {
            for (unsigned i = 0; i <= kTopBit; ++i)
                if ((bits.channel >> i & 1) == 0) home_.push_back(i);
            return;
        }
        const auto start = static_cast<unsigned>(bits.channelBit);
        const unsigned gap = divides_ ? 0 : log2Of(shape.channels);
        for (unsigned i = 0; i + gap <= kTopBit || i < start; ++i) home_.push_back(i < start ? i : i + gap);
    }

    bool divides() const { return divides_; }

    /// The letters count in the whole address where there is no dramid@N, and in the local one where there is.
    std::vector<unsigned> localBits(std::uint64_t mask) const {
        std::vector<unsigned> found;
        for (unsigned i = 0; i < home_.size(); ++i)
            if (mask >> (bits_.channelBit < 0 ? home_[i] : i) & 1) found.push_back(i);
        return found;
    }
    unsigned size() const { return static_cast<unsigned>(divides_ ? start() + kDividedBits - 2 : home_.size()); }

    /// A bit of the address that a local bit is; not where the address is divided.
    std::uint64_t addressBit(unsigned local) const { return local < home_.size() ? 1ull << home_[local] : 0; }

    /// The digits of a number made of these local bits, least significant first.
    std::vector<Digit> digits(const std::vector<unsigned>& locals) const {
        std::vector<Digit> all;
        for (std::size_t i = 0; i < locals.size();) {
            std::size_t n = 1;
            while (i + n < locals.size() && locals[i + n] == locals[i] + n &&
                   (locals[i + n] < start()) == (locals[i] < start()))
                ++n;
            all.push_back(run(locals[i], static_cast<unsigned>(n)));
            i += n;
        }
        return all;
    }

    Digit channel() const {
        Digit d;
        if (divides_) {
            d.bits = dividend();
            d.modulus = static_cast<std::uint64_t>(shape_.channels);
        } else if (bits_.channelBit >= 0) {
            for (unsigned i = 0; i < log2Of(shape_.channels); ++i) d.bits.push_back(1ull << (start() + i));
        } else {
            for (unsigned i = 0; i <= kTopBit; ++i)
                if (bits_.channel >> i & 1) d.bits.push_back(1ull << i);
        }
        return d;
    }

  private:
    unsigned start() const { return bits_.channelBit < 0 ? kTopBit + 1 : static_cast<unsigned>(bits_.channelBit); }

    /// The address from the channel's bit on, which is divided by the channels. Hashed, higher bits are folded into
    /// five low ones: the address stays a different number for each, and arrays spread evenly.
    std::vector<std::uint64_t> dividend() const {
        constexpr unsigned kFolded = 5;
        std::vector<std::uint64_t> bits;
        for (unsigned i = 0; i < kDividedBits; ++i) bits.push_back(1ull << (start() + i));
        if (!hash_) return bits;
        for (unsigned i = 0; i < kFolded; ++i)
            for (unsigned j = i + kFolded; j < kDividedBits; j += kFolded) bits[i] |= 1ull << (start() + j);
        return bits;
    }

    Digit run(unsigned first, unsigned count) const {
        Digit d;
        if (divides_ && first >= start()) {
            d.bits = dividend();
            d.divisor = static_cast<std::uint64_t>(shape_.channels) << (first - start());
            d.modulus = 1ull << count;
        } else {
            for (unsigned i = 0; i < count; ++i) d.bits.push_back(addressBit(first + i));
        }
        return d;
    }

    const AddressBits& bits_;
    const MemoryShape& shape_;
    bool divides_, hash_;
    std::vector<unsigned> home_;  ///< [local bit] = bit of the address
};

/// The bits of an index, each with the bits that a hash adds to it.
class HashedIndex {
  public:
    explicit HashedIndex(std::vector<std::uint64_t> bits) { digit_.bits = std::move(bits); }

    void flip(unsigned mask, std::uint64_t by) {
        for (std::size_t i = 0; i < digit_.bits.size(); ++i)
            if (mask >> i & 1) digit_.bits[i] ^= by;
    }
    std::size_t size() const { return digit_.bits.size(); }
    const Digit& digit() const { return digit_; }

  private:
    Digit digit_;
};

/// By the polynomial of its size, or, where GPGPU-Sim has none, folded.
template <class HigherBit>
bool hashByPolynomial(HashedIndex& index, HigherBit higher) {
    const auto flips = polynomialHash(static_cast<unsigned>(index.size()));
    if (flips)
        for (unsigned i = 0; i < flips->size(); ++i) index.flip((*flips)[i], higher(i));
    else if (index.size() > 0)
        for (unsigned i = 0; i < 15; ++i) index.flip(1u << i % index.size(), higher(i));
    return flips.has_value();
}

template <class HigherBit>
void hashByXor(HashedIndex& index, unsigned from, HigherBit higher) {
    for (unsigned i = from; i < index.size(); ++i) index.flip(1u << i, higher(i - from));
}

class MapMaker {
  public:
    MapMaker(const AddressBits& bits, const MemoryShape& shape)
        : shape_(shape),
          layout_(bits, shape, shape.partitionHash != 0 || shape.setIndex != 'L'),
          channelBit_(static_cast<unsigned>(bits.channelBit >= 0 ? bits.channelBit
                                                                 : std::countr_zero(bits.channel | 1ull << 8))) {
        bank_ = layout_.localBits(bits.bank);
        slice_.assign(bank_.begin(), bank_.begin() + log2Of(shape.slicesPerChannel));
        row_ = layout_.localBits(bits.row);
        const std::uint64_t used = bits.bank | bits.row | bits.column;
        // Rows go on above the letters: GPGPU-Sim has no addresses there.
        for (const unsigned i : layout_.localBits(~used))
            if (!row_.empty() && i > row_.back() && i < layout_.size()) row_.push_back(i);
    }

    MemoryMap make() {
        arch::AddressMap::Roles roles;
        roles.slicesPerChannel = static_cast<std::uint32_t>(shape_.slicesPerChannel);
        roles.slice = slice();
        roles.set = set();
        roles.bank = layout_.digits(bank_);
        roles.row = layout_.digits(row_);
        return {arch::AddressMap(std::move(roles)), difference_};
    }

  private:
    std::vector<Digit> slice() {
        if (layout_.divides()) {
            if (shape_.partitionHash != 0)
                difference_ = "hashed before the division by channels, where GPGPU-Sim hashes after it";
            std::vector<Digit> digits = layout_.digits(slice_);
            digits.push_back(layout_.channel());
            return digits;
        }
        std::vector<std::uint64_t> bits;
        for (const unsigned i : slice_) bits.push_back(layout_.addressBit(i));
        const std::size_t below = bits.size();
        for (const std::uint64_t bit : layout_.channel().bits) bits.push_back(bit);
        if (bits.empty()) return {};
        HashedIndex index(std::move(bits));
        hashPartition(index, static_cast<unsigned>(below));
        return {index.digit()};
    }

    void hashPartition(HashedIndex& index, unsigned below) {
        if (shape_.partitionHash == 0) return;
        // Counted in the whole address: from the bit of the channel on, and as many more as the index has.
        const unsigned first = channelBit_ + static_cast<unsigned>(index.size());
        const auto higher = [&](unsigned i) { return first + i <= kTopBit ? 1ull << (first + i) : 0; };
        if (shape_.partitionHash == 1)
            hashByXor(index, below, higher);
        else if (!hashByPolynomial(index, higher) || shape_.partitionHash != 2)
            difference_ = "higher bits folded into the slice's";
    }

    /// L2 is indexed by what is left of the address without channel and slice.
    std::vector<Digit> set() {
        std::vector<unsigned> left;
        for (unsigned i = 0; i < layout_.size(); ++i)
            if (std::find(slice_.begin(), slice_.end(), i) == slice_.end()) left.push_back(i);
        const unsigned line = log2Of(shape_.lineBytes), sets = log2Of(shape_.sets);
        const std::vector<unsigned> index(left.begin() + line, left.begin() + line + sets);
        if (shape_.setIndex == 'L' || layout_.divides()) return layout_.digits(index);
        if (index.empty()) return {};
        std::vector<std::uint64_t> bits(index.size());
        std::transform(index.begin(), index.end(), bits.begin(), [&](unsigned i) { return layout_.addressBit(i); });
        HashedIndex hashed(std::move(bits));
        const auto at = [&](unsigned i) { return i < left.size() ? layout_.addressBit(left[i]) : 0; };
        hashSet(
            hashed, [&](unsigned i) { return at(line + sets + i); }, at);
        return {hashed.digit()};
    }

    template <class HigherBit, class Bit>
    void hashSet(HashedIndex& index, HigherBit higher, Bit at) {
        if (shape_.setIndex == 'X') {
            hashByXor(index, 0, higher);
        } else if (shape_.setIndex == 'H' && (index.size() == 5 || index.size() == 6)) {
            // Nugteren et al. (HPCA 2014): five bits with bits 13, 14, 15, 17 and 19; a sixth alone.
            unsigned i = 0;
            for (const unsigned bit : {13u, 14u, 15u, 17u, 19u}) index.flip(1u << i++, at(bit));
        } else {
            hashByPolynomial(index, higher);
        }
    }

    const MemoryShape& shape_;
    Layout layout_;
    unsigned channelBit_;
    std::vector<unsigned> bank_, slice_, row_;  ///< local bits
    std::string difference_;
};

void checkShape(const Setting& s, const AddressBits& bits, const MemoryShape& shape) {
    if (bits.channelBit < 0 &&
        (!isPowerOfTwo(shape.channels) || std::popcount(bits.channel) != static_cast<int>(log2Of(shape.channels))))
        refuse(s, fmt::format("letters D must name one of {} channels", shape.channels));
    if (!isPowerOfTwo(shape.slicesPerChannel))
        refuse(s, fmt::format("{} parts of a channel must be a power of two", shape.slicesPerChannel));
    if (std::popcount(bits.bank) < static_cast<int>(log2Of(shape.slicesPerChannel)))
        refuse(s, fmt::format("letters B must name one of {} parts of a channel", shape.slicesPerChannel));
    if (bits.bank == 0 || bits.row == 0) refuse(s, "needs letters B and R");
    // What is left of an address without channel and slice has at least these bits.
    if (log2Of(shape.lineBytes) + log2Of(shape.sets) + log2Of(shape.slicesPerChannel) > kDividedBits - 4)
        refuse(s, fmt::format("{} sets of an L2 with lines of {} B are too many", shape.sets, shape.lineBytes));
}

}  // namespace

AddressBits addressBits(const Setting& s) {
    AddressBits bits;
    std::string_view text = only(s);
    if (text.starts_with("dramid@")) {
        const std::size_t semicolon = std::min(text.find(';'), text.size());
        bits.channelBit = static_cast<int>(integer(s, text.substr(7, semicolon - 7), 5, 24));
        text.remove_prefix(std::min(semicolon + 1, text.size()));
    }
    int at = 64;
    for (const char c : text) {
        if (c == '.' || c == '|') continue;
        if (--at < 0) break;
        const std::uint64_t bit = 1ull << at;
        switch (c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c) {
            case 'D':
                if (bits.channelBit >= 0) refuse(s, "has both dramid@ and letters D");
                bits.channel |= bit;
                break;
            case 'B':
                bits.bank |= bit;
                break;
            case 'R':
                bits.row |= bit;
                break;
            case 'C':
            case 'S':
                bits.column |= bit;
                break;
            case '0':
                break;
            default:
                refuse(s, "an address is 64 of the letters D, B, R, C, S and 0");
        }
    }
    if (at != 0) refuse(s, "an address is 64 of the letters D, B, R, C, S and 0");
    if ((bits.channel | bits.bank | bits.row | bits.column) >> (kTopBit - 4) != 0)
        refuse(s, fmt::format("names bits above {}", kTopBit - 5));
    return bits;
}

MemoryMap memoryMap(const Setting& s, const AddressBits& bits, const MemoryShape& shape) {
    checkShape(s, bits, shape);
    return MapMaker(bits, shape).make();
}

}  // namespace bulkhead::gpgpusim
