#include "cli/command_tree.h"

#include <unistd.h>

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

/// The parser would take an empty value for no option at all.
void refuseEmpty(CLI::Option& option) {
    if (option.nonpositional() && option.get_items_expected_max() > 0)
        option.check(
            CLI::Validator([](const std::string& text) { return text.empty() ? "needs a value" : std::string(); }, ""));
}

/// The name of a positional argument says what it is.
void finishOptions(CLI::App& app) {
    for (CLI::Option* option : app.get_options()) {
        if (option->get_positional()) option->type_name("");
        refuseEmpty(*option);
    }
    for (CLI::App* sub : app.get_subcommands({})) finishOptions(*sub);
}

std::string exampleText(const std::string& verb) {
    std::string text = bold("Examples:", STDOUT_FILENO) + "\n";
    for (const Example& example : examplesOf(verb))
        text += fmt::format("  {}\n      {}\n", example.command, example.what);
    return text;
}

}  // namespace

CommandTree::CommandTree()
    : app("Bulkhead: measure, cause and prevent interference in the caches and memory of GPUs.", "bulkhead") {
    app.set_version_flag("--version", "bulkhead " + version());
    app.require_subcommand(0, 1);
    const auto formatter = std::make_shared<HelpFormatter>();
    formatter->column_width(34);
    formatter->label("SUBCOMMAND", "VERB");
    app.formatter(formatter);
    for (const Verb& verb : verbs()) {
        CLI::App* sub = app.add_subcommand(verb.name, verb.brief);
        sub->group("Verbs");
        actions.emplace_back(sub, verb.setup(CommandLine(*sub)));
        if (examplesOf(verb.name).empty()) continue;
        const std::string footer = sub->get_footer();
        sub->footer(footer + (footer.empty() ? "" : "\n") + exampleText(verb.name));
    }
    finishOptions(app);
    // Verbs would inherit it.
    app.footer("bulkhead VERB --help shows the options of a verb, with examples.");
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
