#include "cli/nvcc_spellings.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <optional>
#include <utility>

namespace bulkhead::cli {
namespace {

bool isOfName(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool isSpace(char c) {
    return std::isspace(static_cast<unsigned char>(c)) != 0;
}

class Respelling {
  public:
    explicit Respelling(std::string_view source) : source_(source) { made_.reserve(source.size() + 64); }

    std::string run() {
        while (at_ < source_.size()) {
            if (const std::size_t skipped = lengthOfTextAt(at_); skipped > 0)
                copy(skipped);
            else if (isOfName(source_[at_]))
                takeName();
            else if (!joinBracket('<') && !joinBracket('>'))
                copy(1);
        }
        return std::move(made_);
    }

  private:
    void copy(std::size_t count) {
        made_ += source_.substr(at_, count);
        at_ += count;
    }

    bool startsWith(std::size_t at, std::string_view text) const { return source_.substr(at, text.size()) == text; }

    std::size_t skipSpace(std::size_t at) const {
        while (at < source_.size() && isSpace(source_[at])) ++at;
        return at;
    }

    /// Behind the end of a comment, a string or a character that begins here; how long it is, or 0.
    std::size_t lengthOfTextAt(std::size_t at) const {
        const auto upTo = [&](std::string_view end, std::size_t from) {
            const std::size_t found = source_.find(end, from);
            return (found == std::string_view::npos ? source_.size() : found + end.size()) - at;
        };
        if (startsWith(at, "//")) return upTo("\n", at);
        if (startsWith(at, "/*")) return upTo("*/", at + 2);
        if (startsWith(at, "R\"")) {
            const std::size_t bracket = source_.find('(', at);
            if (bracket == std::string_view::npos) return 2;
            return upTo(")" + std::string(source_.substr(at + 2, bracket - at - 2)) + "\"", bracket);
        }
        const char quote = source_[at];
        if (quote != '"' && quote != '\'') return 0;
        std::size_t end = at + 1;
        while (end < source_.size() && source_[end] != quote && source_[end] != '\n')
            end += source_[end] == '\\' ? 2 : 1;
        return std::min(end + 1, source_.size()) - at;
    }

    /// "<< <" becomes "<<< ".
    bool joinBracket(char bracket) {
        const std::string two(2, bracket);
        if (!startsWith(at_, two) || startsWith(at_ + 2, two.substr(1))) return false;
        const std::size_t third = skipSpace(at_ + 2);
        if (third >= source_.size() || source_[third] != bracket || startsWith(third, two)) return false;
        made_ += two + bracket;
        made_ += source_.substr(at_ + 2, third - at_ - 2);
        at_ = third + 1;
        return true;
    }

    void takeName() {
        std::size_t end = at_;
        while (end < source_.size() && isOfName(source_[end])) ++end;
        const std::string_view name = source_.substr(at_, end - at_);
        if (name == "__shared__" && startsWith(skipSpace(end), "alignas")) {
            swapAlignment(end);
            return wrapBarrier();
        }
        copy(end - at_);
        if (name == "__shared__") return wrapBarrier();
        if (name == "asm" || name == "__asm__" || name == "__asm") takeAssembly();
    }

    /// Where the bracket that opens at or behind `at` closes; the end of the file where it does not.
    std::size_t closing(std::size_t at) const {
        int depth = 0;
        while (at < source_.size()) {
            if (const std::size_t skipped = lengthOfTextAt(at); skipped > 0) {
                at += skipped;
                continue;
            }
            depth += source_[at] == '(' ? 1 : source_[at] == ')' ? -1 : 0;
            ++at;
            if (depth == 0 && source_[at - 1] == ')') return at;
        }
        return at;
    }

    void swapAlignment(std::size_t endOfSpace) {
        const std::size_t alignment = skipSpace(endOfSpace), end = closing(alignment);
        // clang wants it first of all.
        constexpr std::string_view kExtern = "extern";
        const std::size_t last = made_.find_last_not_of(" \t");
        const bool isExtern = last != std::string::npos && last + 1 >= kExtern.size() &&
                              made_.compare(last + 1 - kExtern.size(), kExtern.size(), kExtern) == 0;
        const std::string before = isExtern ? made_.substr(last + 1 - kExtern.size()) : "";
        made_.resize(made_.size() - before.size());
        made_ += source_.substr(alignment, end - alignment);
        made_ += " " + before;
        made_ += source_.substr(at_, alignment - at_);
        at_ = end;
    }

    /// One variable whose type has a name: "Type name[2];", from behind __shared__.
    struct Declaration {
        std::string_view type, name, extents;
        std::size_t end = 0;
    };
    std::optional<Declaration> declarationAt(std::size_t at) const {
        const std::size_t end = source_.find(';', at);
        if (end == std::string_view::npos) return {};
        const std::string_view text = source_.substr(at, end - at);
        // Of several, or with a value, or a macro's.
        if (text.find_first_of("={}()#\"/") != std::string_view::npos) return {};
        const std::size_t extents = std::min(text.find('['), text.size());
        std::size_t nameEnd = extents;
        while (nameEnd > 0 && isSpace(text[nameEnd - 1])) --nameEnd;
        std::size_t name = nameEnd;
        while (name > 0 && isOfName(text[name - 1])) --name;
        const bool hasType = text.substr(0, name).find_first_not_of(" \t\n") != std::string_view::npos;
        if (name == nameEnd || !hasType || text.substr(name, extents - name).find(',') != std::string_view::npos)
            return {};
        return Declaration{text.substr(0, name), text.substr(name, nameEnd - name), text.substr(extents), end + 1};
    }

    /// clang has no shared variable of a class whose destructor has a body. One that constructs and destroys nothing
    /// holds it, as nvcc leaves it.
    void wrapBarrier() {
        const std::optional<Declaration> d = declarationAt(at_);
        if (!d || (d->type.find("barrier") == std::string_view::npos &&
                   d->type.find("pipeline_shared_state") == std::string_view::npos))
            return;
        const std::string name(d->name);
        made_ += " ::bulkhead_sdk::Unconstructed<";
        made_ += d->type;
        made_ += d->extents;
        made_ += "> " + name + "InShared; auto& " + name + " = " + name + "InShared.object;";
        at_ = d->end;
    }

    void takeAssembly() {
        std::size_t open = skipSpace(at_);
        for (std::string_view word : {"volatile", "__volatile__", "__volatile"})
            if (startsWith(open, word) && !isOfName(source_[std::min(open + word.size(), source_.size() - 1)]))
                open = skipSpace(open + word.size());
        if (open >= source_.size() || source_[open] != '(') return;
        // Without operands, a % is one.
        std::size_t colon = open + 1;
        for (std::size_t skipped = 0; colon < source_.size() && source_[colon] != ':' && source_[colon] != ')';
             colon += std::max<std::size_t>(skipped, 1))
            skipped = lengthOfTextAt(colon);
        if (colon >= source_.size() || source_[colon] != ':') return;
        while (at_ < colon) {
            const bool doubled = startsWith(at_, "%%");
            const bool isRegister = source_[at_] == '%' && !doubled && at_ + 1 < colon &&
                                    std::isalpha(static_cast<unsigned char>(source_[at_ + 1])) != 0 &&
                                    !isModifier(at_ + 1);
            if (isRegister) made_ += '%';
            copy(doubled ? 2 : 1);
        }
    }

    /// A letter and an operand's number or name, as in %c0.
    bool isModifier(std::size_t at) const {
        return at + 1 < source_.size() &&
               (std::isdigit(static_cast<unsigned char>(source_[at + 1])) != 0 || source_[at + 1] == '[');
    }

    std::string_view source_;
    std::string made_;
    std::size_t at_ = 0;
};

}  // namespace

std::string withClangSpellings(std::string_view source) {
    return Respelling(source).run();
}

}  // namespace bulkhead::cli
