#include <fmt/format.h>

#include <map>
#include <memory>

#include "base/error.h"
#include "base/shell_words.h"
#include "cli/command_tree.h"
#include "cli/verbs.h"

namespace bulkhead::cli {
namespace {

/// A word that can be completed behind others, such as "isolate plan".
struct Place {
    std::string words;
    const CLI::App* app;
};

void collect(const CLI::App& app, const std::string& words, std::vector<Place>& places) {
    places.push_back({words, &app});
    for (const CLI::App* sub : app.get_subcommands({}))
        collect(*sub, words.empty() ? sub->get_name() : words + " " + sub->get_name(), places);
}

std::vector<Place> places(const CommandTree& tree) {
    std::vector<Place> all;
    collect(tree.app, "", all);
    return all;
}

std::vector<std::string> spellings(const CLI::Option& option) {
    std::vector<std::string> names;
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    return names;
}

/// All that may follow: verbs below this place, and options.
std::string candidates(const CLI::App& app) {
    std::string words;
    for (const CLI::App* sub : app.get_subcommands({})) words += sub->get_name() + " ";
    for (const CLI::Option* option : visibleOptions(app))
        for (const std::string& name : spellings(*option)) words += name + " ";
    if (!words.empty()) words.pop_back();
    return words;
}

std::string bashScript(const CommandTree& tree) {
    std::string cases;
    for (const Place& place : places(tree))
        cases +=
            fmt::format("        {}) words={} ;;\n", shellQuoted(place.words), shellQuoted(candidates(*place.app)));
    return "# bash completion for bulkhead\n"
           "_bulkhead() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} place='' words='' i\n"
           "    for ((i = 1; i < COMP_CWORD; ++i)); do\n"
           "        [[ ${COMP_WORDS[i]} == -* ]] && break\n"
           "        place+=${place:+ }${COMP_WORDS[i]}\n"
           "    done\n"
           "    case $place in\n" +
           cases +
           "        *) # what follows is no verb: the options are those of the verb before it\n"
           "            case ${COMP_WORDS[1]} in\n" +
           [&] {
               std::string inner;
               for (const auto& [sub, action] : tree.actions)
                   inner +=
                       fmt::format("                {}) words={} ;;\n", sub->get_name(), shellQuoted(candidates(*sub)));
               return inner;
           }() +
           "            esac ;;\n"
           "    esac\n"
           "    if [[ $current == -* || -z $place ]]; then\n"
           "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "    else\n"
           "        COMPREPLY=($(compgen -W \"${words%%-*}\" -- \"$current\"))\n"
           "        [[ -n ${words%%-*} ]] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _bulkhead bulkhead\n";
}

/// zsh takes brackets and colons of a description for its own.
std::string zshText(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out;
}

std::string zshFunction(const CLI::App& app, const std::string& name) {
    std::string out = fmt::format("{}() {{\n", name);
    const auto subs = app.get_subcommands({});
    out += "    local context state state_descr line\n    typeset -A opt_args\n    _arguments -C";
    for (const CLI::Option* option : visibleOptions(app))
        for (const std::string& spelling : spellings(*option)) {
            const bool value = option->get_items_expected_max() > 0;
            const std::string what = zshText(option->get_type_name());
            out += " \\\n        " + shellQuoted("*" + spelling + "[" + zshText(option->get_description()) + "]" +
                                                 (value ? ":" + what + ":_files" : std::string()));
        }
    if (subs.empty()) return out + " \\\n        '*:file:_files'\n}\n";
    out +=
        " \\\n        '1:verb:->verb' \\\n        '*::argument:->argument'\n    case $state in\n    verb)\n        "
        "local "
        "-a verbs=(\n";
    for (const CLI::App* sub : subs)
        out += "            " + shellQuoted(sub->get_name() + ":" + zshText(sub->get_description())) + "\n";
    out += "        )\n        _describe verb verbs ;;\n    argument)\n        case $line[1] in\n";
    for (const CLI::App* sub : subs) out += fmt::format("        {0}) {1}_{0} ;;\n", sub->get_name(), name);
    return out + "        esac ;;\n    esac\n}\n";
}

void zshFunctions(const CLI::App& app, const std::string& name, std::string& out) {
    out += zshFunction(app, name);
    for (const CLI::App* sub : app.get_subcommands({})) zshFunctions(*sub, name + "_" + sub->get_name(), out);
}

std::string zshScript(const CommandTree& tree) {
    std::string out = "#compdef bulkhead\n";
    zshFunctions(tree.app, "_bulkhead", out);
    // As a file of $fpath it is called; sourced, it announces itself.
    return out +
           "if [ \"$funcstack[1]\" = _bulkhead ]; then\n    _bulkhead \"$@\"\nelse\n    compdef _bulkhead "
           "bulkhead\nfi\n";
}

std::string fishText(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c == '\n' ? ' ' : c;
    }
    return out + "'";
}

std::string fishScript(const CommandTree& tree) {
    std::string out = "# fish completion for bulkhead\n";
    for (const Place& place : places(tree)) {
        std::string seen, none;
        for (const CLI::App* sub : place.app->get_subcommands({})) none += " " + sub->get_name();
        for (std::size_t at = 0; at < place.words.size();) {
            const std::size_t end = std::min(place.words.find(' ', at), place.words.size());
            seen += (seen.empty() ? "" : "; and ") +
                    fmt::format("__fish_seen_subcommand_from {}", place.words.substr(at, end - at));
            at = end + 1;
        }
        const std::string without = none.empty() ? "" : fmt::format("not __fish_seen_subcommand_from{}", none);
        const std::string condition = seen.empty() ? without : without.empty() ? seen : seen + "; and " + without;
        for (const CLI::App* sub : place.app->get_subcommands({}))
            out += fmt::format("complete -c bulkhead -f -n {} -a {} -d {}\n", fishText(condition), sub->get_name(),
                               fishText(sub->get_description()));
        for (const CLI::Option* option : visibleOptions(*place.app)) {
            std::string names;
            for (const std::string& name : option->get_lnames()) names += " -l " + name;
            for (const std::string& name : option->get_snames()) names += " -s " + name;
            out += fmt::format("complete -c bulkhead -n {}{}{} -d {}\n", fishText(condition), names,
                               option->get_items_expected_max() > 0 ? " -r" : "", fishText(option->get_description()));
        }
    }
    return out;
}

}  // namespace

Action setUpCompletion(CommandLine line) {
    const auto shell = std::make_shared<std::string>();
    line.option("SHELL", *shell, "shell: bash, zsh or fish").required();
    return [shell] {
        const std::map<std::string, std::string (*)(const CommandTree&)> scripts = {
            {"bash", bashScript}, {"fish", fishScript}, {"zsh", zshScript}};
        const auto script = scripts.find(*shell);
        if (script == scripts.end()) throw Error("completion: unknown shell {}: choose bash, zsh or fish", *shell);
        writeOutput("-", script->second(CommandTree()));
        return kDone;
    };
}

}  // namespace bulkhead::cli
