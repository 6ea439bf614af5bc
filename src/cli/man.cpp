#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "cli/command_tree.h"
#include "cli/examples.h"
#include "cli/verbs.h"

namespace bulkhead::cli {
namespace {

/// Text for roff, which takes a backslash and a leading dot for commands, and a hyphen for one that may be typeset.
std::string roff(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else if (c == '\n') {
            out += ' ';
        } else {
            out += c;
        }
    }
    return out.starts_with(".") || out.starts_with("'") ? "\\&" + out : out;
}

std::string upper(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
}

/// "\fB\-\-json\fR \fIFILE\fR".
std::string optionHead(const CLI::Option& option) {
    std::string head;
    for (const std::string& name : option.get_snames())
        head += (head.empty() ? "\\fB\\-" : ", \\fB\\-") + name + "\\fR";
    for (const std::string& name : option.get_lnames())
        head += (head.empty() ? "\\fB" : ", \\fB") + roff("--" + name) + "\\fR";
    if (option.get_items_expected_max() > 0) head += " \\fI" + roff(option.get_type_name()) + "\\fR";
    return head;
}

std::string optionItem(const CLI::Option& option, const std::string& head) {
    std::string text = roff(option.get_description());
    if (!option.get_default_str().empty()) text += roff(fmt::format(" [{}]", option.get_default_str()));
    return ".TP\n" + head + "\n" + text + "\n";
}

std::string optionItems(const CLI::App& app, const char* heading) {
    std::vector<std::string> groups;
    for (const CLI::Option* option : visibleOptions(app))
        if (std::find(groups.begin(), groups.end(), option->get_group()) == groups.end())
            groups.push_back(option->get_group());
    std::string out;
    for (const CLI::Option* option : positionals(app))
        out += optionItem(*option, "\\fI" + roff(option->get_name(true)) + "\\fR");
    for (const std::string& group : groups) {
        if (group != "Options") out += std::string(heading) + " " + roff(group) + "\n";
        for (const CLI::Option* option : visibleOptions(app))
            if (option->get_group() == group) out += optionItem(*option, optionHead(*option));
    }
    return out;
}

std::string synopsis(const CLI::App& app, const std::string& command) {
    std::string out = "\\fB" + roff(command) + "\\fR [\\fIoptions\\fR]";
    if (!app.get_subcommands({}).empty()) out += " \\fIverb\\fR";
    for (const CLI::Option* option : positionals(app)) {
        const std::string name =
            "\\fI" + roff(option->get_name(true)) + "\\fR" + (option->get_items_expected_max() > 1 ? " ..." : "");
        out += option->get_required() ? " " + name : " [" + name + "]";
    }
    return out + "\n";
}

std::string header(const std::string& page, const std::string& brief) {
    return fmt::format(".TH {} 1 \"\" \"bulkhead {}\" \"Bulkhead\"\n.SH NAME\n{} \\- {}\n", upper(roff(page)),
                       version(), roff(page), roff(brief));
}

std::string ending() {
    return ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nif set and not empty, terminal output has no colors\n"
           ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\na requested check failed\n.TP\n.B 2\n"
           "bad usage or input; standard error has one line that says why\n";
}

std::string verbPage(const CLI::App& verb) {
    const std::string name = "bulkhead-" + verb.get_name(), command = "bulkhead " + verb.get_name();
    std::string out = header(name, verb.get_description()) + ".SH SYNOPSIS\n" + synopsis(verb, command);
    out += ".SH OPTIONS\n" + optionItems(verb, ".SS");
    for (const CLI::App* sub : verb.get_subcommands({}))
        out += fmt::format(".SH {}\n{}\n.PP\n", upper(roff(verb.get_name() + " " + sub->get_name())),
                           roff(sub->get_description())) +
               synopsis(*sub, command + " " + sub->get_name()) + optionItems(*sub, ".SS");
    out += ".SH EXAMPLES\n";
    for (const Example& example : examplesOf(verb.get_name()))
        out += fmt::format(".PP\n.EX\n{}\n.EE\n.RS\n{}\n.RE\n", roff(example.command), roff(example.what));
    return out + ending() + ".SH SEE ALSO\n.BR bulkhead (1)\n";
}

std::string mainPage(const CommandTree& tree) {
    std::string out = header("bulkhead", tree.app.get_description()) + ".SH SYNOPSIS\n" +
                      "\\fBbulkhead\\fR \\fIverb\\fR [\\fIoptions\\fR]\n.SH VERBS\n";
    for (const auto& [sub, action] : tree.actions)
        out += fmt::format(".TP\n.BR {} (1)\n{}\n", roff("bulkhead-" + sub->get_name()), roff(sub->get_description()));
    return out + ".SH OPTIONS\n" + optionItems(tree.app, ".SS") + ending();
}

void writePages(const CommandTree& tree, const std::filesystem::path& folder) {
    expectFolder(folder.string());
    makeFolder(folder.string());
    writeFile(folder / "bulkhead.1", mainPage(tree));
    for (const auto& [sub, action] : tree.actions)
        writeFile(folder / ("bulkhead-" + sub->get_name() + ".1"), verbPage(*sub));
}

}  // namespace

Action setUpMan(CommandLine line) {
    struct Options {
        std::string verb, folder;
    };
    const auto o = std::make_shared<Options>();
    line.option("VERB", o->verb, "verb whose manual page to print [that of bulkhead]");
    line.option("--out", o->folder, "write all manual pages into DIR instead").typeName("DIR");
    return [o, line] {
        if (!o->folder.empty()) refuseGiven(line, {"VERB"}, "man --out");
        const CommandTree tree;
        if (!o->folder.empty()) {
            writePages(tree, o->folder);
        } else {
            writeOutput("-", o->verb.empty() ? mainPage(tree) : verbPage(tree.verb(o->verb)));
        }
        return kDone;
    };
}

}  // namespace bulkhead::cli
