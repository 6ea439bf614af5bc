#include "workloads/mars/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <unordered_set>

namespace bulkhead::workloads::mars {

namespace {

std::string word(Random& random, std::size_t rank, const Zipf& letters) {
    static constexpr std::string_view kByFrequency = "etaoinshrdlucmfwypvbgkjqxz";
    const std::size_t length = 1 + std::bit_width(rank + 1) / 2 + random.below(3);
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += kByFrequency[letters.draw(random)];
    return text;
}

const std::string& draw(Random& random, const Zipf& ranks, const std::vector<std::string>& from) {
    return from[ranks.draw(random)];
}

/// Pages of a web, the best known first.
std::vector<std::string> urls(Random& random, std::size_t count) {
    const std::vector<std::string> words = vocabulary(random, std::max<std::size_t>(64, count / 4));
    const Zipf ranks(words.size());
    std::unordered_set<std::string> known;
    std::vector<std::string> list;
    while (list.size() < count) {
        std::string url = fmt::format("{}.com/{}/{}.html", words[random.below(words.size())],
                                      draw(random, ranks, words), draw(random, ranks, words));
        if (known.insert(url).second) list.push_back(std::move(url));
    }
    return list;
}

/// Words that fit a text of that many bytes, as larger texts have more of them.
std::size_t vocabularySize(std::size_t bytes) {
    return std::clamp<std::size_t>(bytes / 32, 64, 8192);
}

/// Leaves the lines that fit and a blank one that makes it exactly that many bytes.
void endAt(std::string& text, std::size_t bytes) {
    const std::size_t last = text.rfind('\n', bytes - 1);
    text.resize(last == std::string::npos ? 0 : last + 1);
    if (text.size() < bytes) text += std::string(bytes - text.size() - 1, ' ') + '\n';
}

/// Writes HTML with words and links.
class HtmlWriter {
  public:
    HtmlWriter(Random& random, std::size_t bytes)
        : random_(random),
          words_(vocabulary(random, vocabularySize(bytes))),
          urls_(urls(random, std::max<std::size_t>(16, bytes / 512))),
          wordRanks_(words_.size()),
          urlRanks_(urls_.size()) {}

    std::string document(std::size_t bytes) {
        std::string text = fmt::format("<html>\n<head><title>{} {}</title></head>\n<body>\n", someWord(), someWord());
        while (text.size() < bytes) text += line();
        return text + "</body>\n</html>\n";
    }

  private:
    const std::string& someWord() { return draw(random_, wordRanks_, words_); }

    std::string line() {
        std::string text = random_.below(4) == 0 ? "<p>" : "";
        for (std::uint64_t i = 0, n = 6 + random_.below(10); i < n; ++i) text += element() + ' ';
        return text + '\n';
    }

    std::string element() {
        switch (random_.below(64)) {
            case 0:
                return fmt::format("<a href=\"http://{}\">{}</a>", draw(random_, urlRanks_, urls_), someWord());
            case 1:
                return fmt::format("<img src=\"{}.png\">", someWord());
            case 2:
                return fmt::format("<a name=\"{}\">{}</a>", someWord(), someWord());
            case 3:
            case 4:
                return fmt::format("<b>{}</b>", someWord());
            default:
                return someWord();
        }
    }

    Random& random_;
    std::vector<std::string> words_, urls_;
    Zipf wordRanks_, urlRanks_;
};

}  // namespace

Zipf::Zipf(std::size_t ranks) : cumulative_(ranks) {
    double sum = 0;
    for (std::size_t i = 0; i < ranks; ++i) cumulative_[i] = sum += 1.0 / static_cast<double>(i + 1);
}

std::size_t Zipf::draw(Random& random) const {
    const double at = random.uniform() * cumulative_.back();
    const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end() - 1, at);
    return static_cast<std::size_t>(found - cumulative_.begin());
}

std::vector<std::string> vocabulary(Random& random, std::size_t words) {
    const Zipf letters(26);
    std::unordered_set<std::string> known;
    std::vector<std::string> list;
    while (list.size() < words) {
        std::string next = word(random, list.size(), letters);
        if (known.insert(next).second) list.push_back(std::move(next));
    }
    return list;
}

std::string prose(Random& random, std::size_t bytes) {
    const std::vector<std::string> words = vocabulary(random, vocabularySize(bytes));
    const Zipf ranks(words.size());
    std::string text;
    while (text.size() < bytes) {
        for (std::uint64_t i = 0, n = 6 + random.below(8); i < n; ++i) {
            text += draw(random, ranks, words);
            const std::uint64_t mark = random.below(16);
            text += mark == 0 ? ". " : mark == 1 ? ", " : " ";
        }
        text.back() = '\n';
    }
    endAt(text, bytes);
    return text;
}

std::string webLog(Random& random, std::size_t bytes) {
    const std::vector<std::string> pages = urls(random, std::max<std::size_t>(16, bytes / 1024));
    const Zipf pageRanks(pages.size()), visitorRanks(std::max<std::size_t>(64, bytes / 512));
    constexpr std::size_t kRecent = 256;  // a page that is loaded again was loaded a short time ago
    std::vector<std::string> recent;
    std::string text;
    while (text.size() < bytes) {
        std::string line;
        if (!recent.empty() && random.below(8) == 0) {
            line = recent[random.below(recent.size())];
        } else {
            Random visitor(visitorRanks.draw(random));
            const std::uint64_t bits = visitor.next();
            line = fmt::format("{}\t{}.{}.{}.{}\t{:06x}\n", draw(random, pageRanks, pages), bits & 255, bits >> 8 & 255,
                               bits >> 16 & 255, bits >> 24 & 255, bits >> 40);
        }
        text += line;
        if (recent.size() < kRecent) {
            recent.push_back(std::move(line));
        } else {
            recent[random.below(kRecent)] = std::move(line);
        }
    }
    // What does not fit gives way to a line of the length that is left.
    constexpr std::string_view kNoVisitor = "\t0.0.0.0\t0\n";
    text.resize(text.rfind('\n', bytes - kNoVisitor.size() - 2) + 1);
    text += std::string(bytes - kNoVisitor.size() - text.size(), 'x');
    text += kNoVisitor;
    return text;
}

WalledGpu htmlDocuments(Random& random, std::size_t bytes) {
    HtmlWriter writer(random, bytes);
    WalledGpu site;
    while (site.text.size() < bytes) {
        const std::size_t size = (std::size_t{512} << random.below(6)) + random.below(512);
        const std::size_t left = bytes - site.text.size();
        std::string document = writer.document(std::min(size, left));
        if (document.size() >= left) endAt(document, left);
        site.documents.push_back({site.text.size(), document.size()});
        site.text += document;
    }
    return site;
}

std::vector<Span> cut(std::string_view text, std::size_t bytes, char end) {
    std::vector<Span> spans;
    for (std::size_t offset = 0; offset < text.size();) {
        const std::size_t found = text.find(end, std::min(text.size() - 1, offset + bytes - 1));
        const std::size_t next = found == std::string_view::npos ? text.size() : found + 1;
        spans.push_back({offset, next - offset});
        offset = next;
    }
    return spans;
}

}  // namespace bulkhead::workloads::mars
