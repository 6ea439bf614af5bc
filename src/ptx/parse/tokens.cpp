#include "ptx/parse/parser.h"

namespace bulkhead::ptx {

std::string Parser::described(const Token& token) const {
    switch (token.kind) {
        case Token::Kind::end:
            return "the end of the file";
        case Token::Kind::dotWord:
            return fmt::format("'.{}'", token.text);
        case Token::Kind::string:
            return "a string";
        default:
            return fmt::format("'{}'", token.text);
    }
}

void Parser::failExpected(std::string_view what) const {
    Position position = token_.position();
    if (previousEnd_ && previousLine_ != token_.line) {
        position = {previousLine_, static_cast<int>(previousEnd_ - previousLineStart_) + 1};
    }
    fail(position, fmt::format("expected {}, found {}", what, described(token_)));
}

void Parser::failUnexpected(std::string_view wanted) const {
    fail(fmt::format("expected {}, found {}", wanted, described(token_)));
}

}  // namespace bulkhead::ptx
