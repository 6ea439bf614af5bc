#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptx/module.h"

namespace bulkhead::ptx {

struct Token {
    enum class Kind : std::uint8_t {
        end,
        word,     ///< add, %r1, $L__BB0_1, _
        dotWord,  ///< .s32, .visible, .L2::128B: text without the first dot
        integer,
        real,
        string,       ///< text without the quotes, escapes as written
        punctuation,  ///< text is one or two characters
    };
    Kind kind = Kind::end;
    char punctuation = 0;       ///< the character when it is only one, else 0
    bool isUnsigned = false;    ///< integer: U suffix, or too large for a signed one
    Type type = Type::none;     ///< real: f32 for 0f..., else f64
    std::uint64_t integer = 0;  ///< integer, or a real's bit pattern
    double real = 0;
    std::string_view text;
    int line = 1;
    const char* lineStart = nullptr;
    const char* start = nullptr;  ///< where the token begins in the source, leading dot or quote included

    bool is(char c) const { return punctuation == c && kind == Kind::punctuation; }
    bool isDotWord(std::string_view word) const { return kind == Kind::dotWord && text == word; }
    bool isWord() const { return kind == Kind::word; }
    Position position() const { return {line, static_cast<int>(start - lineStart) + 1}; }
};

/// Cuts PTX text into tokens, one at a time. Comments, blanks and @@DWARF lines are skipped. The text must outlive
/// the lexer and its tokens.
class Lexer {
  public:
    Lexer(std::string_view source, std::string_view file);

    void next(Token&);

    /// Throws PtxError, quoting the line.
    [[noreturn]] void fail(Position, std::string_view message) const;

  private:
    void skipBlanks();
    void number(Token&);
    void hexadecimalReal(Token&, Position);
    bool isDecimalReal() const;
    void decimalReal(Token&, Position);
    void integer(Token&, Position, unsigned base);
    void skipDigits();
    void string(Token&);
    Position here() const { return {line_, static_cast<int>(at_ - lineStart_) + 1}; }

    std::string_view source_;
    std::string_view file_;
    const char* at_;
    const char* end_;
    const char* lineStart_;
    int line_ = 1;
};

/// The value of a string token: escapes replaced.
std::string unescape(std::string_view);

}  // namespace bulkhead::ptx
