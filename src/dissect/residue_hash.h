#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "arch/address_map.h"
#include "dissect/gf2.h"

namespace bulkhead::dissect {

/// An address whose slice was found by contention. Slice numbers mean nothing but equality.
struct Labelled {
    std::uint64_t address = 0;
    std::uint32_t slice = 0;
};

/// One bit of a scrambled index: a parity of address bits, and what it adds to the residue where it is odd.
struct WeightedParity {
    Mask mask = 0;
    std::uint32_t weight = 0;
    bool operator==(const WeightedParity&) const = default;
};

/// What the address bits above a page do to the slices in it. Follows from the page's physical address, and is measured
/// where that is unknown.
struct PageLabel {
    std::uint32_t groupFlips = 0;  ///< bit i: group parity i is inverted
    std::uint32_t flips = 0;       ///< bit i: parity i of the index is inverted
    std::uint32_t addend = 0;      ///< to the residue
    bool operator==(const PageLabel&) const = default;
};

/// Slices of the H200's kind. Parities alone choose a group of slices (its side is one; where the number of slices is
/// even, more follow), and a sum of weighted parities modulo an odd number chooses the slice in it. Powers of two as
/// weights make the sum an XOR-scrambled index. With a modulus of 1 it is a plain XOR hash.
struct ResidueHash {
    Mask window = 0;  ///< the address bits it knows of
    std::uint32_t modulus = 1;
    std::vector<Mask> groups;  ///< the side first, where there are two
    std::vector<WeightedParity> parities;
    /// Where no such sum fits: the slice in its group for each pattern of the parities, which have no weights then.
    std::vector<std::uint32_t> table;
    std::vector<std::uint32_t> groupOf, residueOf;  ///< of each slice that was labelled
    PageLabel page;                                 ///< of the page it was found in
    double agreement = 0;                           ///< share of the labels it was found from that it gives again

    /// Its parities at an offset, as bits.
    std::uint32_t patternOf(std::uint64_t offset) const;
    std::uint32_t group(std::uint64_t offset, const PageLabel&) const;
    std::uint32_t residue(std::uint64_t offset, const PageLabel&) const;
    /// With this label residues count backwards: they are those of the other one, negated. As sums of inverted parities
    /// do so, contention cannot tell which of the two a page has.
    PageLabel backwards(const PageLabel&) const;
    bool explains(const Labelled&, const PageLabel&) const;
    std::uint32_t slices() const { return modulus << groups.size(); }
};

/// The parity of address bits that tells the sides apart, from addresses with known sides (`slice` is 0 or 1): which
/// single bits change it. Addresses must come in pairs that differ in one bit. Empty if no parity gives `agreement` of
/// them.
struct SideMask {
    Mask mask = 0;
    bool inverted = false;  ///< the side of offset 0
    double agreement = 0;
};
std::optional<SideMask> fitSide(const std::vector<Labelled>&, Mask bits, double agreement = 0.9);

/// Finds modulus, parities and weights from labels of one page. `bits`, a range, are the offset bits that vary in them;
/// `side` is the mask of the side, or 0. Differences that flip one parity send each slice to two others, a step up or
/// down; the rings they form give the slices their order, and the directions of steps give the parities. Empty if no
/// such form fits; `why` then says what was missing.
std::optional<ResidueHash> fitResidueHash(const std::vector<Labelled>&, Mask bits, Mask side, std::string& why);

/// For slices of no form: a table by the address bits that matter, of which `labels` must have every sum. Empty if the
/// sides have unlike numbers of slices, or if labels of equal addresses differ too often.
std::optional<ResidueHash> fitTable(const std::vector<Labelled>& labels, Mask bits, Mask side, std::string& why);

/// The label of another page from a few labelled addresses of it (offsets in the page). Empty if none agrees with
/// `agreement` of them, or if several do.
std::optional<PageLabel> fitPage(const ResidueHash&, const std::vector<Labelled>&, double agreement = 0.9);

/// Extends a hash found within a page to the bits above it, where physical page addresses are known: `pages` are labels
/// of a page and of others that differ from it in one bit each. False if the first pages differ from it in more.
struct KnownPage {
    std::uint64_t address = 0;
    PageLabel label;
};
bool extendToPages(ResidueHash&, const std::vector<KnownPage>&);

/// As digits of an AddressMap: the index modulo n, then the groups. With `labelShift` the page's label stands in
/// synthetic address bits from there on.
struct ResidueDigits {
    std::vector<arch::Digit> slice;
    unsigned flipsShift = 0, groupShift = 0, addendShift = 0;
    std::uint32_t addendUnit = 1;  ///< what one in the addend's field adds
    std::uint32_t modulus = 1;

    /// The address that stands for a page with this label.
    std::uint64_t pageAddress(const PageLabel&) const;
};
/// Renumbers the hash's slices and parities to agree with the digits. Empty if the weights are not those of an index.
std::optional<ResidueDigits> residueDigits(ResidueHash&, std::optional<unsigned> labelShift);

}  // namespace bulkhead::dissect
