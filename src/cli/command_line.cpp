#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace bulkhead::cli {
namespace {

/// What is wrong with a count, or nothing.
std::string refuseCount(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.starts_with("-")) return text + " must not be negative";
    if (error == std::errc::result_out_of_range) return text + " is too large";
    return error == std::errc() && end == text.data() + text.size() ? "" : "'" + text + "' is not a whole number";
}

std::string refuseQuantity(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value)) return "'" + text + "' is not a number";
    return value < 0 ? text + " must not be negative" : "";
}

}  // namespace

Option Option::typeName(std::string_view name) const {
    option_->type_name(std::string(name));
    return *this;
}

Option Option::description(std::string_view text) const {
    option_->description(std::string(text));
    return *this;
}

Option Option::showDefault() const {
    option_->capture_default_str();
    return *this;
}

Option Option::group(std::string_view name) const {
    option_->group(std::string(name));
    return *this;
}

Option Option::check(Check check) const {
    option_->check(CLI::Validator(std::move(check), ""));
    return *this;
}

Option Option::required() const {
    option_->required();
    return *this;
}

Option Option::delimiter(char between) const {
    option_->delimiter(between);
    return *this;
}

Option Option::oneValue() const {
    option_->allow_extra_args(false);
    return *this;
}

bool Option::given() const {
    return option_->count() > 0;
}

Option CommandLine::option(std::string_view name, std::string& to, std::string_view what) {
    return Option(parser_->add_option(std::string(name), to, std::string(what)));
}

// The parser would take -1 for the largest number, and one that is larger for that as well.

Option CommandLine::option(std::string_view name, double& to, std::string_view what) {
    return Option(parser_->add_option(std::string(name), to, std::string(what))).check(refuseQuantity).typeName("N");
}

Option CommandLine::option(std::string_view name, std::uint32_t& to, std::string_view what) {
    return Option(parser_->add_option(std::string(name), to, std::string(what))).check(refuseCount).typeName("N");
}

Option CommandLine::option(std::string_view name, std::uint64_t& to, std::string_view what) {
    return Option(parser_->add_option(std::string(name), to, std::string(what))).check(refuseCount).typeName("N");
}

Option CommandLine::option(std::string_view name, std::vector<std::string>& to, std::string_view what) {
    return Option(parser_->add_option(std::string(name), to, std::string(what)));
}

Option CommandLine::option(std::string_view name, std::vector<unsigned>& to, std::string_view what) {
    return Option(parser_->add_option(std::string(name), to, std::string(what))).check(refuseCount).typeName("N");
}

Option CommandLine::option(std::string_view name, std::function<void(std::uint32_t)> taken, std::string_view what) {
    return Option(parser_->add_option_function<std::uint32_t>(std::string(name), taken, std::string(what)))
        .check(refuseCount)
        .typeName("N");
}

Option CommandLine::flag(std::string_view name, bool& to, std::string_view what) {
    return Option(parser_->add_flag(std::string(name), to, std::string(what)));
}

CommandLine CommandLine::verb(std::string_view name, std::string_view brief) {
    return CommandLine(*parser_->add_subcommand(std::string(name), std::string(brief)));
}

void CommandLine::requireVerb() {
    parser_->require_subcommand(1);
}

void CommandLine::chosen(std::function<void()> action) {
    parser_->callback(std::move(action));
}

void CommandLine::footer(std::string_view text) {
    parser_->footer(std::string(text));
}

void CommandLine::takeAnything() {
    parser_->prefix_command();
}

std::vector<std::string> CommandLine::remaining() const {
    return parser_->remaining();
}

bool CommandLine::given(std::string_view option) const {
    return parser_->count(std::string(option)) > 0;
}

std::vector<std::string> CommandLine::givenOf(std::string_view group) const {
    std::vector<std::string> names;
    for (const CLI::Option* option : parser_->get_options())
        if (option->count() > 0 && option->get_group() == group) names.push_back(option->get_name());
    return names;
}

}  // namespace bulkhead::cli
