// Help, manual pages and completion, which come from the same declarations as the parser.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

/// The indented words that begin lines below a heading of help.
std::set<std::string> listed(const std::string& help, const std::string& heading) {
    std::set<std::string> words;
    const std::size_t at = help.find(heading + ":\n");
    if (at == std::string::npos) return words;
    const std::string block = help.substr(at, help.find("\n\n", at) - at);
    const std::regex word("\n  ([^ ,]+)");
    for (std::sregex_iterator i(block.begin(), block.end(), word), end; i != end; ++i) words.insert((*i)[1]);
    return words;
}

std::set<std::string> verbNames() {
    return listed(run({"--help"}).out, "Verbs");
}

/// What bash offers when Tab is pressed behind these words.
std::set<std::string> bashOffers(const std::string& words) {
    const TemporaryDirectory folder;
    writeFile(folder / "complete", run({"completion", "bash"}).out);
    writeFile(folder / "ask", "source '" + (folder / "complete").string() + "'\nCOMP_WORDS=(bulkhead " + words +
                                  ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_bulkhead\nprintf '%s\\n' "
                                  "\"${COMPREPLY[@]}\"\n");
    FILE* pipe = ::popen(("bash '" + (folder / "ask").string() + "' 2>&1").c_str(), "r");
    std::set<std::string> offers;
    char line[512];
    while (std::fgets(line, sizeof line, pipe) != nullptr) offers.insert(std::string(line, std::strlen(line) - 1));
    EXPECT_EQ(::pclose(pipe), 0);
    return offers;
}

TEST(Help, OfEveryVerbHasExamplesOfIt) {
    for (const std::string& verb : verbNames()) {
        const Outcome o = run({verb, "--help"});
        ASSERT_EQ(o.exitCode, 0) << verb;
        const std::size_t at = o.out.find("Examples:\n");
        ASSERT_NE(at, std::string::npos) << verb;
        EXPECT_NE(o.out.find("bulkhead " + verb, at), std::string::npos) << verb;
    }
}

TEST(Help, GivesExamplesOfOptionsThatThereAre) {
    const std::regex option("--[a-z][a-z-]*");
    for (const std::string& verb : verbNames()) {
        const std::string help = run({verb, "--help"}).out;
        const std::size_t at = help.find("Examples:\n");
        std::istringstream lines(help.substr(at));
        for (std::string line; std::getline(lines, line);) {
            std::istringstream words(line);
            std::string program, name, below;
            words >> program >> name >> below;
            if (program != "bulkhead" || name != verb || verb == "cc") continue;
            const std::string own = line.substr(0, line.find(" -- "));
            const std::string known = help.substr(0, at) + (verb == "isolate" ? run({verb, below, "--help"}).out : "");
            for (std::sregex_iterator i(own.begin(), own.end(), option), end; i != end; ++i)
                EXPECT_NE(known.find(i->str()), std::string::npos) << line;
        }
    }
}

TEST(Help, HasNoColorsInAPipe) {
    EXPECT_EQ(run({"stress", "--help"}).out.find('\x1b'), std::string::npos);
    EXPECT_EQ(run({"nonsense"}).err.find('\x1b'), std::string::npos);
}

/// What the program says to a terminal of its own, with these variables.
std::string onATerminal(const std::string& variables) {
    const TemporaryDirectory folder;
    writeFile(folder / "ask", variables + " '" BULKHEAD_PROGRAM "' stress --help\n");
    FILE* pipe = ::popen(("script -qec \"bash '" + (folder / "ask").string() + "'\" /dev/null 2>&1").c_str(), "r");
    std::string said;
    char line[512];
    while (std::fgets(line, sizeof line, pipe) != nullptr) said += line;
    EXPECT_EQ(::pclose(pipe), 0);
    return said;
}

TEST(Help, HasColorsOnATerminalUnlessTheyAreUnwanted) {
    EXPECT_NE(onATerminal("TERM=xterm").find("\x1b[1mExamples:"), std::string::npos);
    for (const char* unwanted : {"TERM=xterm NO_COLOR=1", "TERM=dumb"}) {
        const std::string said = onATerminal(unwanted);
        EXPECT_NE(said.find("Examples:"), std::string::npos) << said;
        EXPECT_EQ(said.find('\x1b'), std::string::npos) << unwanted;
    }
}

TEST(Manual, HasAPageForEveryVerbWithEveryOption) {
    const TemporaryDirectory folder;
    const std::filesystem::path pages = folder / "share/man1";  // which is made
    ASSERT_EQ(run({"man", "--out", pages.string()}).exitCode, 0);
    const std::string first = readFile(pages / "bulkhead.1");
    for (const std::string& verb : verbNames()) {
        EXPECT_NE(first.find(".BR bulkhead\\-" + verb + " (1)"), std::string::npos) << verb;
        const std::string page = readFile(pages / ("bulkhead-" + verb + ".1"));
        EXPECT_EQ(page, run({"man", verb}).out);
        for (const std::string& option : listed(run({verb, "--help"}).out, "Options")) {
            if (!option.starts_with("--")) continue;
            EXPECT_NE(page.find("\\-\\-" + std::regex_replace(option.substr(2), std::regex("-"), "\\-")),
                      std::string::npos)
                << verb << " " << option;
        }
    }
}

TEST(Manual, RefusesWhatItCannotDo) {
    expectRefused({"man", "strss"}, "did you mean stress?");
    expectRefused({"man", "--out", "/proc/pages"}, "/proc/pages: cannot create this folder");
    expectRefused({"completion", "tcsh"}, "choose bash, zsh or fish");
}

TEST(Completion, OffersEveryVerb) {
    std::set<std::string> offers = bashOffers("''");
    for (const std::string& verb : verbNames()) EXPECT_TRUE(offers.contains(verb)) << verb;
}

TEST(Completion, OffersTheOptionsOfAVerb) {
    EXPECT_EQ(bashOffers("stress --aggressor"), (std::set<std::string>{"--aggressors", "--aggressor-bytes"}));
    EXPECT_EQ(bashOffers("run ATAX --sched"), std::set<std::string>{"--scheduler"});
}

TEST(Completion, OffersVerbsBelowAVerb) {
    EXPECT_EQ(bashOffers("isolate pl"), std::set<std::string>{"plan"});
    EXPECT_EQ(bashOffers("isolate plan --partit"), std::set<std::string>{"--partitions"});
}

TEST(Mistakes, NegativeCountsAreRefusedWhateverTheirSize) {
    expectRefused({"dissect", "--addresses", "-1"}, "--addresses");
    expectRefused({"stress", "--victim-bytes", "-1"}, "--victim-bytes");
    expectRefused({"run", "ATAX", "--seed", "-7"}, "must not be negative");
    expectRefused({"isolate", "evaluate", "--samples", "-1"}, "--samples");
}

TEST(Mistakes, AreAnsweredWithTheNearestWord) {
    expectRefused({"strss"}, "did you mean stress?");
    expectRefused({"stress", "--victm", "x"}, "did you mean --victim?");
    expectRefused({"isolate", "pln"}, "did you mean plan?");
    expectRefused({"isolate", "plan", "--partition", "2"}, "did you mean --partitions?");
}

}  // namespace
}  // namespace bulkhead::cli
