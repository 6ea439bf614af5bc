#include "gpgpusim/configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.h"

namespace bulkhead::gpgpusim {
namespace {

bool isSpace(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\v' || c == '\f';
}

bool isLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

struct Word {
    std::string text;
    int line = 0;
    bool quoted = false;
};

/// The words of a file, one after the other.
class Words {
  public:
    Words(std::string_view text, const std::string& file) : text_(text), file_(file) {}

    bool next(Word& word) {
        skip();
        if (at_ == text_.size()) return false;
        word = {"", line_, text_[at_] == '"'};
        if (word.quoted)
            quoted(word);
        else
            while (at_ < text_.size() && !isSpace(text_[at_]) && text_[at_] != '#') word.text += text_[at_++];
        return true;
    }

  private:
    void skip() {
        while (at_ < text_.size() && (isSpace(text_[at_]) || text_[at_] == '#')) {
            if (text_[at_] == '#') at_ = std::min(text_.find('\n', at_), text_.size());
            if (at_ < text_.size() && text_[at_++] == '\n') ++line_;
        }
    }

    /// White space inside is dropped: a list of timings goes over lines that way.
    void quoted(Word& word) {
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\n') ++line_;
            if (!isSpace(text_[at_])) word.text += text_[at_];
        }
        if (at_ == text_.size()) throw Error("{}:{}: a quotation mark is not closed", file_, word.line);
        ++at_;
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
    int line_ = 1;
};

bool isOption(const Word& word) {
    return !word.quoted && word.text.size() > 1 && word.text[0] == '-' && isLetter(word.text[1]);
}

}  // namespace

std::string Setting::value() const {
    return fmt::format("{}", fmt::join(words, " "));
}

std::string Setting::where() const {
    return fmt::format("{}:{}", file, line);
}

std::string Setting::text() const {
    return fmt::format("{}: {}{}{}", where(), option, words.empty() ? "" : " ", value());
}

void Configuration::read(std::string_view text, const std::string& file) {
    const auto strange = std::find_if(text.begin(), text.end(),
                                      [](char c) { return static_cast<unsigned char>(c) < 0x20 && !isSpace(c); });
    if (strange != text.end())
        throw Error("{}:{}: is no text: a configuration of GPGPU-Sim has lines such as -gpgpu_n_mem 6", file,
                    1 + std::count(text.begin(), strange, '\n'));
    Words words(text, file);
    Setting* open = nullptr;
    for (Word word; words.next(word);) {
        if (std::any_of(word.text.begin(), word.text.end(), [](char c) { return c < 0x20 || c > 0x7e; }))
            throw Error("{}:{}: {}: options and values have letters of ASCII alone", file, word.line, word.text);
        if (isOption(word)) {
            open = &(settings_[word.text] = {word.text, {}, file, word.line});
        } else if (open == nullptr) {
            throw Error("{}:{}: {}: a configuration of GPGPU-Sim has lines such as -gpgpu_n_mem 6", file, word.line,
                        word.text.substr(0, 40));
        } else {
            open->words.push_back(std::move(word.text));
        }
    }
    if (open == nullptr) throw Error("{}:1: holds no option, as -gpgpu_n_mem 6 is one", file);
    files_.push_back(file);
}

const Setting* Configuration::find(std::initializer_list<std::string_view> options) {
    const Setting* found = nullptr;
    for (const std::string_view option : options) {
        const auto it = settings_.find(option);
        if (it == settings_.end()) continue;
        used_.insert(it->first);
        if (found == nullptr) found = &it->second;
    }
    return found;
}

std::vector<std::string> Configuration::unused() const {
    std::vector<std::string> left;
    for (const auto& [option, setting] : settings_)
        if (!used_.contains(option)) left.push_back(option);
    return left;
}

void refuse(const Setting& s, const std::string& why) {
    throw Error("{}: {}", s.text(), why);
}

const std::string& only(const Setting& s) {
    if (s.words.empty()) refuse(s, "lacks its value");
    if (s.words.size() > 1) refuse(s, "has more than one value");
    return s.words.front();
}

double decimal(const Setting& s, std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        refuse(s, fmt::format("{} is no number", text.empty() ? "nothing" : text));
    return value;
}

std::int64_t integer(const Setting& s, std::string_view text, std::int64_t least, std::int64_t most) {
    std::string_view digits = text;
    int base = 10;
    if (digits.size() > 2 && digits.starts_with("0x")) {
        base = 16;
        digits.remove_prefix(2);
    } else if (digits.size() > 1 && digits.front() == '0') {
        base = 8;
        digits.remove_prefix(1);
    }
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    const bool whole = end == digits.data() + digits.size() && !digits.empty();
    if (error == std::errc::invalid_argument || !whole)
        refuse(s, fmt::format("{} is no integer", text.empty() ? "nothing" : text));
    if (error != std::errc() || value < least || value > most)
        refuse(s, fmt::format("{} must be from {} to {}", text, least, most));
    return value;
}

std::int64_t integer(const Setting& s, std::int64_t least, std::int64_t most) {
    return integer(s, only(s), least, most);
}

bool flag(const Setting& s) {
    return s.words.empty() || integer(s, 0, 1) != 0;
}

std::vector<std::int64_t> integers(const Setting& s, char separator, std::int64_t least, std::int64_t most) {
    std::vector<std::int64_t> numbers;
    for (const std::string& part : split(only(s), separator)) numbers.push_back(integer(s, part, least, most));
    return numbers;
}

}  // namespace bulkhead::gpgpusim
