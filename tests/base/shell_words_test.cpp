#include "base/shell_words.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "base/error.h"

namespace bulkhead {
namespace {

/// Words as /bin/sh parts them, which replaces nothing in these texts.
std::vector<std::string> partedByShell(const std::string& text) {
    FILE* const answer = popen(("printf '<%s>\\n' " + text).c_str(), "r");
    std::string said;
    std::array<char, 256> some;
    while (const std::size_t n = std::fread(some.data(), 1, some.size(), answer)) said.append(some.data(), n);
    pclose(answer);
    std::vector<std::string> words;
    for (std::size_t at = 0; at < said.size();) {
        const std::size_t end = said.find(">\n", at);
        words.push_back(said.substr(at + 1, end - at - 1));
        at = end + 2;
    }
    return words;
}

TEST(ShellWords, arePartedAsAShellDoes) {
    for (const char* text : {"a", "--time=1:00  -p long", "--comment='two words'", "a\"b c\"d ''", "a\\ b 'c\\d'",
                             "\"a\\\"b\" 'it'\\''s'"})
        EXPECT_EQ(shellWords(text, "options"), partedByShell(text)) << text;
    EXPECT_TRUE(shellWords("  ", "options").empty());
}

TEST(ShellWords, aQuotationMarkMustBeClosed) {
    EXPECT_THROW(shellWords("a 'b", "options"), Error);
    EXPECT_THROW(shellWords("\"", "options"), Error);
}

TEST(ShellWords, quotedOnesComeBackWhateverTheyHold) {
    for (const std::string word : {"", "a", "two words", "it's", "$(date) `date` \\ \" %j * ~"}) {
        EXPECT_EQ(partedByShell(shellQuoted(word)), std::vector<std::string>{word});
        EXPECT_EQ(shellWords(shellQuoted(word), "word"), std::vector<std::string>{word});
    }
}

}  // namespace
}  // namespace bulkhead
