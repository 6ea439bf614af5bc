#include "cli/command_tree.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/error.h"
#include "base/suggest.h"
#include "cli/examples.h"
#include "cli/style.h"

namespace bulkhead::cli {
namespace {

/// Help as CLI11 has it, with headings that stand out on a terminal.
class HelpFormatter final : public CLI::Formatter {
  public:
    std::string make_group(std::string group, bool positional, std::vector<const CLI::Option*> options) const override {
        const std::string text = CLI::Formatter::make_group(group, positional, std::move(options));
        const std::size_t heading = text.find(group + ":");
        if (group.empty() || heading == std::string::npos) return text;
        return text.substr(0, heading) + bold(group + ":", STDOUT_FILENO) + text.substr(heading + group.size() + 1);
    }
};

/// What is wrong with a count, or nothing.
std::string refuseCount(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.starts_with("-")) return text + " must not be negative";
    if (error == std::errc::result_out_of_range) return text + " is too large";
    return error == std::errc() && end == text.data() + text.size() ? "" : "'" + text + "' is no whole number";
}

std::string refuseQuantity(const std::string& text) {
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value)) return "'" + text + "' is no number";
    return value < 0 ? text + " must not be negative" : "";
}

/// The parser would take -1 for the largest number, one that is larger for that as well, and an empty value for no
/// option at all.
void refuseNonsense(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        if (option->get_type_name() == "UINT") option->check(CLI::Validator(refuseCount, ""));
        if (option->get_type_name() == "FLOAT") option->check(CLI::Validator(refuseQuantity, ""));
        if (option->nonpositional() && option->get_items_expected_max() > 0)
            option->check(CLI::Validator(
                [](const std::string& text) { return text.empty() ? "needs a value" : std::string(); }, ""));
    }
    for (CLI::App* sub : app.get_subcommands({})) refuseNonsense(*sub);
}

std::string exampleText(const std::string& verb) {
    std::string text = bold("Examples:", STDOUT_FILENO) + "\n";
    for (const Example& example : examplesOf(verb))
        text += fmt::format("  {}\n      {}\n", example.command, example.what);
    return text;
}

}  // namespace

CommandTree::CommandTree() : app("Bulkhead: cache interference on GPUs: see it, cause it, wall it off.", "bulkhead") {
    app.set_version_flag("--version", "bulkhead " + version());
    app.require_subcommand(0, 1);
    const auto formatter = std::make_shared<HelpFormatter>();
    formatter->column_width(34);
    formatter->label("SUBCOMMAND", "VERB");
    app.formatter(formatter);
    for (const Verb& verb : verbs()) {
        CLI::App* sub = app.add_subcommand(verb.name, verb.brief);
        sub->group("Verbs");
        actions.emplace_back(sub, verb.setup(*sub));
        if (examplesOf(verb.name).empty()) continue;
        const std::string footer = sub->get_footer();
        sub->footer(footer + (footer.empty() ? "" : "\n") + exampleText(verb.name));
    }
    refuseNonsense(app);
    // Verbs would inherit it.
    app.footer("bulkhead VERB --help tells the options of a verb, with examples.");
}

std::vector<std::string> CommandTree::names() const {
    std::vector<std::string> names;
    for (const auto& [sub, action] : actions) names.push_back(sub->get_name());
    return names;
}

const CLI::App& CommandTree::verb(const std::string& name) const {
    for (const auto& [sub, action] : actions)
        if (sub->get_name() == name) return *sub;
    throw Error("unknown verb {}{}", name, didYouMean(name, names()));
}

std::vector<const CLI::Option*> visibleOptions(const CLI::App& app) {
    return app.get_options([](const CLI::Option* o) { return !o->get_group().empty() && o->nonpositional(); });
}

std::vector<const CLI::Option*> positionals(const CLI::App& app) {
    return app.get_options([](const CLI::Option* o) { return !o->get_group().empty() && o->get_positional(); });
}

}  // namespace bulkhead::cli
