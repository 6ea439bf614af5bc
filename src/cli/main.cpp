#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/shell_words.h"
#include "base/suggest.h"
#include "cli/command_tree.h"
#include "cli/slurm_task.h"
#include "cli/style.h"
#include "cli/verbs.h"
#include "corun/worker.h"
#include "experiment/interruption.h"

namespace bulkhead::cli {

namespace {

std::string typedCommand;

/// Arguments as a shell would take them again.
std::string joined(int count, char** arguments) {
    std::string line = "bulkhead";
    for (int i = 1; i < count; ++i) line += ' ' + shellWord(arguments[i]);
    return line;
}

int fail(const std::string& message) {
    std::fflush(stdout);
    // Where even this cannot be written, the exit code still tells.
    const std::string line = alarming("bulkhead:", STDERR_FILENO) + " " + printable(message) + "\n";
    std::fputs(line.c_str(), stderr);
    return kBadInput;
}

std::vector<std::string> optionNames(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    return names;
}

/// The verb that was reached, and the words that lead to it.
std::pair<const CLI::App*, std::string> reached(const CLI::App& app) {
    const CLI::App* at = &app;
    std::string words;
    while (!at->get_subcommands().empty()) {
        at = at->get_subcommands().front();
        words += (words.empty() ? "" : " ") + at->get_name();
    }
    return {at, words};
}

std::vector<std::string> verbsBelow(const CLI::App& app) {
    std::vector<std::string> names;
    for (const CLI::App* sub : app.get_subcommands({})) names.push_back(sub->get_name());
    return names;
}

/// One line for what the parser did not accept, with the nearest thing that it would. A word that it did not know comes
/// before what it missed: the one is most often the other, mistyped.
std::string explain(const CLI::ParseError& e, const CLI::App& app) {
    const auto [at, words] = reached(app);
    const std::string help = fmt::format("see bulkhead {}{}--help", words, words.empty() ? "" : " ");
    std::vector<std::string> extras = app.remaining(true);
    std::erase(extras, "--");
    for (const std::string& word : extras)
        if (word.starts_with("-"))
            return fmt::format("unknown option {}{}; {}", word,
                               didYouMean(word.substr(0, word.find('=')), optionNames(*at)), help);
    // What is no number at all was refused before.
    const std::string message = e.what(), unconverted = "Could not convert: ";
    if (message.starts_with(unconverted))
        return fmt::format("{}: {} is too large", words, message.substr(unconverted.size()));
    if (!extras.empty() && !words.empty())
        return fmt::format("{}: unexpected argument {}{}; {}", words, extras.front(),
                           didYouMean(extras.front(), verbsBelow(*at)), help);
    return words.empty() ? message : fmt::format("{}: {}", words, message);
}

/// A stream that is closed would be taken by the first file that is opened, which would then be written into.
void occupyStandardStreams() {
    // Whatever is written into one that can only be read fails, as into one that is closed.
    while (true) {
        const int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (file > STDERR_FILENO) ::close(file);
        if (file < 0 || file > STDERR_FILENO) return;
    }
}

int run(int count, char** arguments) {
    typedCommand = joined(count, arguments);
    // Started by co-runs of this program, for an actor in a process of its own: no verb for users.
    if (count == 2 && std::string_view(arguments[1]) == "actor") return corun::serveActor();
    // What jobs of --on slurm run on their nodes.
    if (count == 4 && std::string_view(arguments[1]) == "slurm-task") return doSlurmTask(arguments[2], arguments[3]);
    CommandTree tree;
    CLI::App& app = tree.app;
    const std::vector<std::string> names = tree.names();

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
        if (e.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
            app.exit(e);  // prints help or the version
            if (!std::cout.flush()) throw Error("cannot write to standard output");
            return kDone;
        }
        return fail(explain(e, app));
    }
    for (const auto& [sub, action] : tree.actions)
        if (sub->parsed()) return action();
    return fail("a verb is missing; see bulkhead --help");
}

}  // namespace

std::string commandLine() {
    return typedCommand;
}

std::string refusalOf(const std::vector<std::string>& words) {
    CommandTree tree;
    std::vector<std::string> lastFirst(words.rbegin(), words.rend());  // as the parser wants them
    try {
        tree.app.parse(lastFirst);
    } catch (const CLI::ParseError& e) {
        return explain(e, tree.app);
    }
    return {};
}

std::string version() {
    return BULKHEAD_VERSION;
}

Check between(std::uint64_t least, std::uint64_t most) {
    // What is no number is refused elsewhere.
    return [=](const std::string& text) {
        const std::uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
        return value > most    ? fmt::format("{} is too large: the maximum is {}", text, most)
               : value < least ? fmt::format("{} is too small: the minimum is {}", text, least)
                               : std::string();
    };
}

Check positive() {
    return between(1, std::numeric_limits<std::uint64_t>::max());
}

void refuseGiven(const CommandLine& line, std::initializer_list<const char*> options, const std::string& where) {
    for (const char* option : options)
        if (line.given(option)) throw Error("{} does not take {}", where, option);
}

void expectOutputs(std::initializer_list<std::string> files) {
    if (std::count(files.begin(), files.end(), "-") > 1) throw Error("only one output can go to standard output (-)");
    for (const std::string& file : files)
        if (!file.empty() && file != "-") expectWritable(file);
}

void expectFolder(const std::string& folder) {
    if (folder.empty()) return;
    std::vector<std::filesystem::path> missing;
    std::error_code unknown;
    for (std::filesystem::path path = folder; !path.empty() && !std::filesystem::exists(path, unknown);
         path = path.parent_path())
        missing.push_back(path);
    // As with files, only a trial tells everything.
    makeFolder(folder);
    const auto takeBack = [&] {
        for (const std::filesystem::path& path : missing) std::filesystem::remove(path, unknown);
    };
    try {
        expectWritable(folder + "/bulkhead");
    } catch (const Error&) {
        takeBack();
        throw;
    }
    takeBack();
}

void makeFolder(const std::string& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) throw Error("{}: cannot create this folder: {}", folder, failed.message());
}

void writeOutput(const std::string& file, const std::string& bytes) {
    if (file != "-") return writeFile(file, bytes);
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0)
        throw Error("cannot write to standard output");
}

void writeJson(const std::string& file, const nlohmann::ordered_json& json) {
    writeOutput(file, jsonText(json, 2) + "\n");
}

}  // namespace bulkhead::cli

int main(int count, char** arguments) {
    bulkhead::cli::occupyStandardStreams();
    try {
        return bulkhead::cli::run(count, arguments);
    } catch (const std::filesystem::filesystem_error& e) {
        return bulkhead::cli::fail(fmt::format("{}: {}", e.path1().string(), e.code().message()));
    } catch (const bulkhead::experiment::Interrupted&) {
        bulkhead::cli::fail("interrupted");
        return bulkhead::cli::kInterrupted;
    } catch (const std::bad_alloc&) {
        return bulkhead::cli::fail("out of memory");
    } catch (const std::exception& e) {
        return bulkhead::cli::fail(e.what());
    }
}
