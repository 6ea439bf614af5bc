#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace bulkhead::cli {

/// What is wrong with a value as it was typed; empty: nothing.
using Check = std::function<std::string(const std::string&)>;

/// An option of a verb, while it is declared.
class Option {
  public:
    explicit Option(CLI::Option* option) : option_(option) {}

    Option typeName(std::string_view) const;  ///< for help
    Option description(std::string_view) const;
    Option showDefault() const;            ///< in help
    Option group(std::string_view) const;  ///< under which help lists it
    Option check(Check) const;
    Option required() const;
    Option delimiter(char) const;  ///< between the values of a list
    Option oneValue() const;       ///< of a list, each time that it is given
    bool given() const;

  private:
    CLI::Option* option_;
};

/// What may follow a verb, and what did. It stands before the parser, whose headers take the compiler seconds wherever
/// they are included. Copies name the same.
class CommandLine {
  public:
    explicit CommandLine(CLI::App& parser) : parser_(&parser) {}

    Option option(std::string_view name, std::string&, std::string_view what);
    Option option(std::string_view name, double&, std::string_view what);
    Option option(std::string_view name, std::uint32_t&, std::string_view what);
    Option option(std::string_view name, std::uint64_t&, std::string_view what);
    Option option(std::string_view name, std::vector<std::string>&, std::string_view what);
    Option option(std::string_view name, std::vector<unsigned>&, std::string_view what);
    /// Called with its value, before the verb.
    Option option(std::string_view name, std::function<void(std::uint32_t)>, std::string_view what);
    Option flag(std::string_view name, bool&, std::string_view what);

    CommandLine verb(std::string_view name, std::string_view brief);
    void requireVerb();
    /// Called where this verb is the one that was typed.
    void chosen(std::function<void()>);
    void footer(std::string_view);
    /// Whatever follows is left to be read by `remaining`.
    void takeAnything();
    std::vector<std::string> remaining() const;

    bool given(std::string_view option) const;
    /// The names of those of a group that were given.
    std::vector<std::string> givenOf(std::string_view group) const;

  private:
    CLI::App* parser_;
};

}  // namespace bulkhead::cli
