#include <chrono>
#include <random>

#include "support.h"

namespace bulkhead::ptx {
namespace {

/// Damages text the way files are damaged and people mistype: bytes and tokens lost, doubled, changed or swapped.
class Mutator {
  public:
    explicit Mutator(std::uint32_t seed) : random_(seed) {}

    std::string mutate(std::string text) {
        int changes = 1 + static_cast<int>(below(4));
        for (int i = 0; i < changes && !text.empty(); ++i) change(text);
        return text;
    }

  private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : random_() % n; }

    /// A token's bounds, roughly: a run of word characters, or one other character.
    std::pair<std::size_t, std::size_t> token(const std::string& text) {
        std::size_t first = below(text.size()), last = first;
        auto isWord = [&](char c) {
            return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '$';
        };
        while (first > 0 && isWord(text[first]) && isWord(text[first - 1])) --first;
        while (last + 1 < text.size() && isWord(text[last]) && isWord(text[last + 1])) ++last;
        return {first, last + 1 - first};
    }

    void change(std::string& text) {
        static constexpr const char* kPieces[] = {
            "{",          "}",       "(",       ")",      "[",     "]",      ";",    ",",     ":",   "@",   "!",
            "|",          "<",       ">",       "-",      "+",     "/",      "*",    "\"",    "//",  "/*",  "*/",
            "@@",         ".",       "::",      "_",      "%",     "$",      "0x",   "0f",    "0d0", "1e9", "99999999",
            "4294967296", ".reg",    ".global", ".param", ".func", ".entry", ".b32", ".pred", "ret", "bra", "call",
            "WARP_SZ",    "generic", "\n",      "\r",     "\t",    "=",      "~",    "?"};
        auto [at, length] = token(text);
        auto [otherAt, otherLength] = token(text);
        switch (below(9)) {
            case 0:
                text.erase(at, length);
                break;
            case 1:
                text.insert(at, text.substr(at, length));
                break;
            case 2:
                text.replace(at, length, text.substr(otherAt, otherLength));
                break;
            case 3:
                text.insert(at, std::string(kPieces[below(std::size(kPieces))]));
                break;
            case 4:
                text.replace(at, length, kPieces[below(std::size(kPieces))]);
                break;
            case 5:
                text[at] = static_cast<char>(random_());
                break;
            case 6:
                text.erase(at, below(200));
                break;
            case 7:
                text.resize(at);
                break;
            case 8:
                text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
                break;
        }
    }

    std::mt19937 random_;
};

TEST(Fuzz, DamagedModulesAreRefusedOrParsedButNeverCrash) {
    std::vector<std::string> sources;
    for (const auto& file : ptxFilesIn(kTestFolder / "fixtures")) {
        std::string text = readFile(file);
        if (text.size() < 16'000) sources.push_back(std::move(text));
    }
    Mutator mutator(20240607);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(3);
    int refused = 0, accepted = 0;
    for (int i = 0; i < 20'000 && std::chrono::steady_clock::now() < deadline; ++i) {
        std::string text = mutator.mutate(sources[static_cast<std::size_t>(i) % sources.size()]);
        try {
            Module module = parse(text, "fuzz.ptx");
            ++accepted;
            for (const Function& function : module.functions) analyseLiveness(function, analyseControlFlow(function));
        } catch (const PtxError& error) {
            ++refused;
            ASSERT_GE(error.position.line, 1);
            ASSERT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
        }
    }
    EXPECT_GT(refused, 100);
    EXPECT_GT(accepted, 10);
}

}  // namespace
}  // namespace bulkhead::ptx
