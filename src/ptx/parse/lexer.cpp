#include "ptx/parse/lexer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace bulkhead::ptx {

namespace {

enum CharClass : std::uint8_t { blank = 1, wordStart = 2, digit = 4, wordPart = 8 };

constexpr std::array<std::uint8_t, 256> makeClasses() {
    std::array<std::uint8_t, 256> table{};
    for (unsigned char c : {' ', '\t', '\r', '\v', '\f'}) table[c] = blank;
    for (int c = 'a'; c <= 'z'; ++c) table[c] = wordStart | wordPart;
    for (int c = 'A'; c <= 'Z'; ++c) table[c] = wordStart | wordPart;
    for (int c = '0'; c <= '9'; ++c) table[c] = digit | wordPart;
    table['_'] = table['$'] = wordStart | wordPart;
    return table;
}
constexpr auto kClasses = makeClasses();

bool in(char c, unsigned classes) {
    return kClasses[static_cast<unsigned char>(c)] & classes;
}

int digitValue(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

bool isExponent(char c) {
    return c == 'e' || c == 'E';
}

}  // namespace

Lexer::Lexer(std::string_view source, std::string_view file)
    : source_(source), file_(file), at_(source.data()), end_(source.data() + source.size()), lineStart_(at_) {}

void Lexer::fail(Position position, std::string_view message) const {
    const char* line = source_.data();
    for (int n = 1; n < position.line; ++n) {
        auto* newline = static_cast<const char*>(std::memchr(line, '\n', end_ - line));
        if (!newline) break;
        line = newline + 1;
    }
    auto* newline = line == end_ ? nullptr : static_cast<const char*>(std::memchr(line, '\n', end_ - line));
    std::string_view quoted(line, (newline ? newline : end_) - line);
    throw PtxError(file_, position, message, quoted);
}

void Lexer::skipBlanks() {
    while (at_ != end_) {
        char c = *at_;
        if (in(c, blank)) {
            ++at_;
        } else if (c == '\n') {
            ++line_;
            lineStart_ = ++at_;
        } else if (c == '/' && at_ + 1 != end_ && at_[1] == '/') {
            auto* newline = static_cast<const char*>(std::memchr(at_, '\n', end_ - at_));
            at_ = newline ? newline : end_;
        } else if (c == '/' && at_ + 1 != end_ && at_[1] == '*') {
            Position start = here();
            at_ += 2;
            while (true) {
                if (end_ - at_ < 2) fail(start, "comment without an end");
                if (at_[0] == '*' && at_[1] == '/') break;
                if (*at_++ == '\n') {
                    ++line_;
                    lineStart_ = at_;
                }
            }
            at_ += 2;
        } else if (c == '@' && at_ + 1 != end_ && at_[1] == '@') {
            // @@DWARF lines: debug data of PTX before 2.0, which have no other end than the line's.
            auto* newline = static_cast<const char*>(std::memchr(at_, '\n', end_ - at_));
            at_ = newline ? newline : end_;
        } else {
            return;
        }
    }
}

void Lexer::next(Token& token) {
    skipBlanks();
    token.line = line_;
    token.lineStart = lineStart_;
    token.start = at_;
    token.punctuation = 0;
    if (at_ == end_) {
        token.kind = Token::Kind::end;
        token.text = {};
        return;
    }
    char c = *at_;
    char following = at_ + 1 != end_ ? at_[1] : 0;
    if (in(c, wordStart) || (c == '%' && in(following, wordStart))) {
        const char* begin = at_++;
        while (at_ != end_ && in(*at_, wordPart)) ++at_;
        token.kind = Token::Kind::word;
        token.text = {begin, static_cast<std::size_t>(at_ - begin)};
        return;
    }
    if (in(c, digit)) {
        number(token);
        return;
    }
    if (c == '.' && in(following, wordPart)) {
        const char* begin = ++at_;
        while (at_ != end_) {
            if (in(*at_, wordPart)) {
                ++at_;
            } else if (*at_ == ':' && end_ - at_ > 2 && at_[1] == ':' && in(at_[2], wordPart)) {
                at_ += 3;
            } else {
                break;
            }
        }
        token.kind = Token::Kind::dotWord;
        token.text = {begin, static_cast<std::size_t>(at_ - begin)};
        return;
    }
    if (c == '"') {
        string(token);
        return;
    }
    token.kind = Token::Kind::punctuation;
    bool doubled = following == c && (c == '<' || c == '>' || c == '&' || c == '|' || c == '=');
    if (doubled || (following == '=' && (c == '<' || c == '>' || c == '!'))) {
        token.text = {at_, 2};
        at_ += 2;
        return;
    }
    if (!std::strchr("{}()[]<>,;:=+-*/%&|^~!?@", c) || c == 0) {
        auto byte = static_cast<unsigned char>(c);
        if (byte > ' ' && byte < 127) fail(here(), fmt::format("unexpected character '{}'", c));
        fail(here(), fmt::format("unexpected byte 0x{:02x}", byte));
    }
    token.punctuation = c;
    token.text = {at_, 1};
    ++at_;
}

void Lexer::number(Token& token) {
    const char* begin = at_;
    const Position position = here();
    const char second = *at_ == '0' && at_ + 1 != end_ ? at_[1] : 0;
    token.isUnsigned = false;
    if (second == 'f' || second == 'F' || second == 'd' || second == 'D') {
        hexadecimalReal(token, position);
    } else if (second == 'x' || second == 'X') {
        at_ += 2;
        integer(token, position, 16);
    } else if (second == 'b' || second == 'B') {
        at_ += 2;
        integer(token, position, 2);
    } else if (isDecimalReal()) {
        decimalReal(token, position);
    } else {
        integer(token, position, *at_ == '0' ? 8 : 10);
    }
    token.text = {begin, static_cast<std::size_t>(at_ - begin)};
    if (at_ != end_ && in(*at_, wordPart)) fail(position, "malformed number");
}

void Lexer::skipDigits() {
    while (at_ != end_ && in(*at_, digit)) ++at_;
}

/// 0f or 0d and the bits of the number.
void Lexer::hexadecimalReal(Token& token, Position position) {
    const bool isSingle = at_[1] == 'f' || at_[1] == 'F';
    at_ += 2;
    std::uint64_t bits = 0;
    int digits = 0;
    for (; at_ != end_ && digitValue(*at_) < 16 && digits < 17; ++at_, ++digits) {
        bits = bits << 4 | static_cast<unsigned>(digitValue(*at_));
    }
    if (digits != (isSingle ? 8 : 16)) {
        fail(position, isSingle ? "0f is followed by 8 hexadecimal digits" : "0d is followed by 16 hexadecimal digits");
    }
    token.kind = Token::Kind::real;
    token.type = isSingle ? Type::f32 : Type::f64;
    token.integer = bits;
    token.real = isSingle ? static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))
                          : std::bit_cast<double>(bits);
}

/// 1.5, 1., 1e10. A dot followed by a letter other than an exponent is a modifier.
bool Lexer::isDecimalReal() const {
    const char* after = std::find_if(at_, end_, [](char c) { return !in(c, digit); });
    if (after == end_) return false;
    if (isExponent(*after)) return true;
    return *after == '.' && (after + 1 == end_ || !in(after[1], wordStart) || isExponent(after[1]));
}

void Lexer::decimalReal(Token& token, Position position) {
    const char* begin = at_;
    skipDigits();
    if (at_ != end_ && *at_ == '.') {
        ++at_;
        skipDigits();
    }
    if (at_ != end_ && isExponent(*at_)) {
        ++at_;
        if (at_ != end_ && (*at_ == '+' || *at_ == '-')) ++at_;
        if (at_ == end_ || !in(*at_, digit)) fail(position, "exponent without digits");
        skipDigits();
    }
    token.kind = Token::Kind::real;
    token.type = Type::f64;
    if (std::from_chars(begin, at_, token.real).ec != std::errc{}) fail(position, "real number out of range");
    token.integer = std::bit_cast<std::uint64_t>(token.real);
}

void Lexer::integer(Token& token, Position position, unsigned base) {
    const char* digits = at_;
    std::uint64_t value = 0;
    bool tooLarge = false;
    for (; at_ != end_; ++at_) {
        auto d = static_cast<unsigned>(digitValue(*at_));
        if (d >= base) {
            if (d < 10) fail(position, fmt::format("digit {} in a number of base {}", d, base));
            break;
        }
        if (value > (~std::uint64_t{0} - d) / base) tooLarge = true;
        value = value * base + d;
    }
    if (at_ == digits) fail(position, "number without digits");
    if (tooLarge) fail(position, "integer does not fit in 64 bits");
    if (at_ != end_ && (*at_ == 'U' || *at_ == 'u')) {
        token.isUnsigned = true;
        ++at_;
    }
    if (value >> 63) token.isUnsigned = true;
    token.kind = Token::Kind::integer;
    token.integer = value;
}

void Lexer::string(Token& token) {
    Position start = here();
    const char* begin = ++at_;
    while (at_ != end_ && *at_ != '"' && *at_ != '\n') at_ += *at_ == '\\' && end_ - at_ > 1 && at_[1] != '\n' ? 2 : 1;
    if (at_ == end_ || *at_ != '"') fail(start, "string without an end");
    token.kind = Token::Kind::string;
    token.text = {begin, static_cast<std::size_t>(at_ - begin)};
    ++at_;
}

std::string unescape(std::string_view text) {
    std::string value;
    value.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c != '\\' || i + 1 == text.size()) {
            value += c;
            continue;
        }
        c = text[++i];
        if (c == 'x' || (c >= '0' && c <= '7')) {
            int base = c == 'x' ? 16 : 8;
            std::size_t first = c == 'x' ? i + 1 : i;
            std::size_t limit = std::min(text.size(), first + (c == 'x' ? 2 : 3));
            int code = 0;
            for (i = first; i < limit && digitValue(text[i]) < base; ++i) code = code * base + digitValue(text[i]);
            --i;
            value += static_cast<char>(code);
            continue;
        }
        constexpr std::string_view kFrom = "ntrabfv", kTo = "\n\t\r\a\b\f\v";
        auto known = kFrom.find(c);
        value += known == std::string_view::npos ? c : kTo[known];
    }
    return value;
}

}  // namespace bulkhead::ptx
