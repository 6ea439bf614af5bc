#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/suggest.h"
#include "cli/verbs.h"

namespace bulkhead::cli {

namespace {

std::string typedCommand;

/// Arguments as a shell would take them again.
std::string joined(int count, char** arguments) {
    std::string line = "bulkhead";
    for (int i = 1; i < count; ++i) {
        const std::string argument = arguments[i];
        const bool plain =
            !argument.empty() && argument.find_first_of(" \t\n\"'\\$`*?[]{}()<>|&;!#~") == std::string::npos;
        line += ' ';
        if (plain) {
            line += argument;
            continue;
        }
        line += '\'';
        for (char c : argument) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += '\'';
    }
    return line;
}

std::string firstLine(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

int fail(const std::string& message) {
    std::fflush(stdout);
    fmt::print(stderr, "bulkhead: {}\n", firstLine(message));
    return kBadInput;
}

std::vector<std::string> optionNames(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

/// One line for what the parser did not accept, with the nearest thing that it would.
std::string explain(const CLI::ParseError& e, const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    const CLI::App& at = chosen.empty() ? app : *chosen.front();
    if (dynamic_cast<const CLI::ExtrasError*>(&e) != nullptr) {
        const std::vector<std::string> extras = app.remaining(true);
        if (!extras.empty()) {
            const std::string& word = extras.front();
            if (word.starts_with("-"))
                return fmt::format("unknown option {}{}; see bulkhead {}--help", word,
                                   didYouMean(word.substr(0, word.find('=')), optionNames(at)),
                                   chosen.empty() ? "" : at.get_name() + " ");
            if (!chosen.empty())
                return fmt::format("{}: unexpected argument {}; see bulkhead {} --help", at.get_name(), word,
                                   at.get_name());
        }
    }
    return chosen.empty() ? fmt::format("{}", e.what()) : fmt::format("{}: {}", at.get_name(), e.what());
}

int run(int count, char** arguments) {
    typedCommand = joined(count, arguments);
    CLI::App app("Bulkhead: a simulated GPU, and what shares it.", "bulkhead");
    app.set_version_flag("--version", "bulkhead " + version());
    app.require_subcommand(0, 1);
    app.get_formatter()->column_width(34);

    std::vector<std::pair<CLI::App*, Action>> actions;
    std::vector<std::string> names;
    for (const Verb& verb : verbs()) {
        CLI::App* sub = app.add_subcommand(verb.name, verb.brief);
        actions.emplace_back(sub, verb.setup(*sub));
        names.emplace_back(verb.name);
    }

    // The first word decides: a mistyped verb would otherwise only be an argument too many.
    const std::string first = count > 1 ? arguments[1] : "";
    if (count == 1) {
        fmt::print(stderr, "{}", app.help());
        return fail("a verb is missing");
    }
    if (!first.starts_with("-") && std::find(names.begin(), names.end(), first) == names.end())
        return fail(fmt::format("unknown verb {}{}; see bulkhead --help", first, didYouMean(first, names)));

    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& e) {
        if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(e) == 0 ? kDone : kBadInput;
        return fail(explain(e, app));
    }
    for (const auto& [sub, action] : actions)
        if (sub->parsed()) return action();
    return fail("a verb is missing; see bulkhead --help");
}

}  // namespace

std::string commandLine() {
    return typedCommand;
}

std::string version() {
    return BULKHEAD_VERSION;
}

void expectOutputs(std::initializer_list<std::string> files) {
    for (const std::string& file : files)
        if (!file.empty() && file != "-") expectWritable(file);
}

void writeOutput(const std::string& file, const std::string& bytes) {
    if (file != "-") return writeFile(file, bytes);
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0)
        throw Error("standard output cannot be written");
}

void writeJson(const std::string& file, const nlohmann::ordered_json& json) {
    // A command may hold bytes that are no UTF-8, such as those of a file's name.
    writeOutput(file, json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace bulkhead::cli

int main(int count, char** arguments) {
    try {
        return bulkhead::cli::run(count, arguments);
    } catch (const std::exception& e) {
        return bulkhead::cli::fail(e.what());
    }
}
