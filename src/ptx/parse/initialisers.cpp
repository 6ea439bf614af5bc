#include <algorithm>
#include <bit>

#include "ptx/parse/parser.h"

namespace bulkhead::ptx {

namespace {

constexpr std::uint64_t kLargestInitialised = std::uint64_t{1} << 28;

}  // namespace

void Parser::initialise(Variable& target, Extents& dimensions) {
    Position position = token_.position();
    const std::uint64_t scalarBytes = bitsOf(target.type) / 8;
    // A vector is one more, innermost, dimension.
    Extents shape = dimensions;
    if (target.vector > 1) shape.counts.push_back(target.vector);
    if (target.bytes > kLargestInitialised) fail(position, "initialised variable too large");
    target.initial.assign(target.bytes, 0);
    if (token_.kind == Token::Kind::string) {
        if (scalarBytes != 1 || shape.counts.size() != 1) fail("a string initialises an array of bytes");
        std::string text = unescape(token_.text);
        advance();
        if (dimensions.isOpen) text += '\0';
        if (dimensions.isOpen) target.initial.assign(text.size(), 0);
        if (text.size() > target.initial.size()) fail(position, "more initialisers than elements");
        std::copy(text.begin(), text.end(), target.initial.begin());
    } else if (shape.counts.empty()) {
        // Braces round a single value are allowed, as in C.
        bool braced = accept('{');
        initialiseScalar(target, 0, scalarBytes);
        if (braced) expect('}');
    } else {
        if (!token_.is('{')) failExpected("'{'");
        std::uint64_t written = initialiseLevel(target, shape, 0, 0, scalarBytes);
        if (dimensions.isOpen) {
            std::uint64_t row = sizeOf(shape, 1, scalarBytes, position);
            std::uint64_t rows = row == 0 ? 0 : (written + row - 1) / row;
            target.initial.resize(rows * row, 0);
        }
    }
    if (dimensions.isOpen) target.bytes = target.initial.size();
    mergeMasks(target);
}

std::uint64_t Parser::initialiseLevel(Variable& target, const Extents& shape, std::size_t level, std::uint64_t offset,
                                      std::uint64_t scalarBytes) {
    Nesting nesting(*this);
    const bool isOpen = level == 0 && shape.isOpen;
    const std::uint64_t limit =
        isOpen ? kLargestInitialised : offset + sizeOf(shape, level, scalarBytes, token_.position());
    const std::uint64_t row = sizeOf(shape, level + 1, scalarBytes, token_.position());
    expect('{');
    const std::uint64_t start = offset;
    while (!token_.is('}')) {
        const bool isRow = token_.is('{');
        if (isRow && level + 1 >= shape.counts.size()) fail("more braces than dimensions");
        if (isRow && row != 0) offset = start + (offset - start + row - 1) / row * row;
        const std::uint64_t bytes = isRow ? row : scalarBytes;
        if (offset + bytes > limit) fail("more initialisers than elements");
        if (isOpen && target.initial.size() < offset + bytes) {
            target.initial.resize(std::min(limit, std::max(offset + bytes, 2 * target.initial.size())), 0);
        }
        if (isRow) {
            initialiseLevel(target, shape, level + 1, offset, scalarBytes);
        } else {
            initialiseScalar(target, offset, scalarBytes);
        }
        offset += bytes;
        if (!accept(',')) break;
    }
    expect('}');
    return offset;
}

void Parser::initialiseScalar(Variable& target, std::uint64_t offset, std::uint64_t bytes) {
    Position position = token_.position();
    if (token_.isWord() && token_.text != "WARP_SZ") {
        relocation(target, offset, static_cast<unsigned>(bytes), std::nullopt, position);
        return;
    }
    Constant value;
    if (token_.kind == Token::Kind::integer) {
        value = Constant::ofInteger(token_.integer, token_.isUnsigned);
        advance();
        if (token_.is('(')) {
            // The mask operator: 0xFF00(symbol) is that byte of the address.
            advance();
            unsigned shift = value.bits == 0 ? 64 : static_cast<unsigned>(std::countr_zero(value.bits));
            if (shift % 8 != 0 || shift > 56 || value.bits >> shift != 0xff) {
                fail(position, "a mask selects one byte: 0xFF, 0xFF00, ...");
            }
            if (bytes != 1) fail(position, "masks initialise bytes");
            relocation(target, offset, 1, shift, position);
            expect(')');
            return;
        }
        if (token_.is(',') || token_.is('}')) {
            writeScalar(target, offset, bytes, value, position);
            return;
        }
        value = conditional(value);
    } else {
        value = constantExpression();
    }
    writeScalar(target, offset, bytes, value, position);
}

void Parser::writeScalar(Variable& target, std::uint64_t offset, std::uint64_t bytes, const Constant& value,
                         Position position) {
    std::uint64_t bits = value.bits;
    if (target.type == Type::f32 || target.type == Type::f64) {
        if (value.isReal() && value.type == target.type) {
            bits = value.bits;
        } else if (target.type == Type::f32) {
            bits = std::bit_cast<std::uint32_t>(static_cast<float>(value.asReal()));
        } else {
            bits = std::bit_cast<std::uint64_t>(value.asReal());
        }
    } else if (value.isReal()) {
        bool isBits = target.type == Type::b32 || target.type == Type::b64;
        if (!isBits || bitsOf(target.type) != bitsOf(value.type)) {
            fail(position, fmt::format("a real number cannot initialise .{}", nameOf(target.type)));
        }
    }
    // Little-endian, on any host.
    for (std::uint64_t i = 0; i < bytes; ++i) {
        target.initial[offset + i] = i < 8 ? static_cast<std::uint8_t>(bits >> (8 * i)) : 0;
    }
    // The upper half of a negative .b128.
    if (bytes > 8 && !value.isUnsigned() && !value.isReal() && bits >> 63) {
        std::fill_n(target.initial.begin() + static_cast<std::ptrdiff_t>(offset) + 8, bytes - 8, 0xff);
    }
}

void Parser::relocation(Variable& target, std::uint64_t offset, unsigned bytes, std::optional<unsigned> mask,
                        Position position) {
    Relocation result{offset, {}, 0, false, bytes, mask.value_or(0)};
    std::string_view name = expectWord("a symbol");
    Position namePosition = position;
    if (name == "generic" && token_.is('(')) {
        advance();
        result.generic = true;
        namePosition = token_.position();
        name = expectWord("a symbol");
        result.addend = displacement();
        expect(')');
    }
    result.symbol = name;
    result.addend += displacement();
    if (isFloat(target.type) || (!mask && bytes != 4 && bytes != 8)) {
        fail(position, fmt::format("the address of '{}' does not fit in .{}", name, nameOf(target.type)));
    }
    relocationUses_.emplace_back(name, namePosition);
    target.relocations.push_back(std::move(result));
}

void Parser::mergeMasks(Variable& target) {
    std::vector<Relocation> merged;
    for (Relocation& relocation : target.relocations) {
        if (relocation.bytes == 1 && !merged.empty()) {
            Relocation& last = merged.back();
            if (last.symbol == relocation.symbol && last.addend == relocation.addend &&
                last.generic == relocation.generic && last.offset + last.bytes == relocation.offset &&
                last.shift + 8 * last.bytes == relocation.shift) {
                ++last.bytes;
                continue;
            }
        }
        merged.push_back(std::move(relocation));
    }
    target.relocations = std::move(merged);
}

}  // namespace bulkhead::ptx
