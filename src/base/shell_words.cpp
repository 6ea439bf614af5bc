#include "base/shell_words.h"

#include "base/error.h"

namespace bulkhead {

std::string shellQuoted(std::string_view word) {
    std::string quoted = "'";
    for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string shellWord(std::string_view word) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$`*?[]{}()<>|&;!#~") == std::string_view::npos;
    return plain ? std::string(word) : shellQuoted(word);
}

std::vector<std::string> shellWords(std::string_view text, const std::string& where) {
    std::vector<std::string> words;
    bool inside = false;  // of a word, which may be empty: ''
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote == 0 && (c == ' ' || c == '\t' || c == '\n')) {
            inside = false;
            continue;
        }
        if (!inside) words.emplace_back();
        inside = true;
        if (quote == 0 && (c == '\'' || c == '"')) {
            quote = c;
        } else if (quote != 0 && c == quote) {
            quote = 0;
        } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
            words.back() += text[++i];
        } else {
            words.back() += c;
        }
    }
    if (quote != 0) throw Error("{}: a quotation mark is not closed", where);
    return words;
}

}  // namespace bulkhead
