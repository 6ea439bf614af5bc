#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bulkhead {

/// A word as a shell takes it again, whatever it holds: 'word'.
std::string shellQuoted(std::string_view word);
/// The same without quotation marks where none are needed.
std::string shellWord(std::string_view word);

/// The words of a text as a shell would part them: 'as it is', "with spaces", and \ before a character. Nothing is
/// replaced. Throws Error if a quotation mark is not closed; `where` begins the message.
std::vector<std::string> shellWords(std::string_view text, const std::string& where);

}  // namespace bulkhead
