#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/split.h"

namespace bulkhead::gpgpusim {

/// An option of a configuration file with what follows it: `-gpgpu_clock_domains 700.0:700.0:700.0:924.0`.
struct Setting {
    std::string option;              ///< with its hyphen
    std::vector<std::string> words;  ///< up to the next option; a quoted text is one
    std::string file;
    int line = 0;

    std::string value() const;  ///< the words, a space between them
    std::string where() const;  ///< FILE:LINE
    std::string text() const;   ///< as a profile cites it: FILE:LINE: OPTION VALUE
};

/// What gpgpusim.config and trace.config say. GPGPU-Sim reads a file as words between white space: `#` begins a
/// comment, a quotation mark a word that may go over lines, and of an option that is given twice the last one counts.
class Configuration {
  public:
    /// Adds a file. Its name is for messages. Throws Error, with the line, on what is no such file.
    void read(std::string_view text, const std::string& file);

    /// The setting of the first of these options that there is, or null. It counts as used from now on.
    const Setting* find(std::initializer_list<std::string_view> options);
    /// Those that nobody has asked for, by name.
    std::vector<std::string> unused() const;
    const std::vector<std::string>& files() const { return files_; }

  private:
    std::map<std::string, Setting, std::less<>> settings_;
    std::set<std::string, std::less<>> used_;
    std::vector<std::string> files_;
};

/// Reading values. All throw Error with the setting's file, line and text.
[[noreturn]] void refuse(const Setting&, const std::string& why);
/// A word alone: what most options have.
const std::string& only(const Setting&);
double decimal(const Setting&, std::string_view text);
/// Decimal, octal (0...) or hexadecimal (0x...), as GPGPU-Sim reads numbers.
std::int64_t integer(const Setting&, std::string_view text, std::int64_t least, std::int64_t most);
std::int64_t integer(const Setting&, std::int64_t least, std::int64_t most);
bool flag(const Setting&);
/// The numbers of `4,13,4,5,145`.
std::vector<std::int64_t> integers(const Setting&, char separator, std::int64_t least, std::int64_t most);

}  // namespace bulkhead::gpgpusim
