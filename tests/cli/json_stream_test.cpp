// With --json -, standard output is JSON and nothing else, so that a pipe can read it.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "base/files.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

using Words = std::vector<std::string>;

const std::string kPrinting = R"(.version 7.0
.target sm_70
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry k()
{
    .reg .b64 %rd<3>;
    mov.u64 %rd1, text;
    cvta.global.u64 %rd1, %rd1;
    mov.u64 %rd2, 0;
    {
        .param .b64 format;
        .param .b64 arguments;
        .param .b32 r;
        st.param.b64 [format], %rd1;
        st.param.b64 [arguments], %rd2;
        call.uni (r), vprintf, (format, arguments);
    }
    ret;
}
)";

class JsonStream : public testing::Test {
  protected:
    void SetUp() override {
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
        writeFile(path("good.json"), R"({"title": "t", "columns": [{"name": "n", "unit": ""}], "rows": [{"n": 1}]})");
        writeFile(path("k.ptx"), kPrinting);
    }
    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    /// By the verb: a command that takes a moment.
    std::map<std::string, std::vector<Words>> commands() const {
        const Words stress = {"--aggressors", "compute", "--samples", "1", "--accesses", "256"};
        return {
            {"dissect", {{"--gpu", "sim:tx2", "--memory", "128"}}},
            {"calibrate", {{"--gpu", "sim:tx2", "--only", "clock"}}},
            {"run", {{"VA", "--size", "test"}, {path("k.ptx")}}},
            {"workloads", {{}, {"VA", "--measure"}}},
            {"compare", {{"--workloads", "VA", "--schedulers", "gto", "--size", "test"}}},
            {"correlate", {{"VA", "--gpu", "sim:gtx480", "--twin", "sim:gtx480", "--size", "test"}}},
            {"stress", {stress}},
            {"isolate plan", {{"--partitions", "2"}}},
            {"isolate list", {{}}},
            {"isolate evaluate", {{"--applications", "VA", "--neighbours", "VA", "--methods", "cp", "--size", "test"}}},
            {"isolate cost", {{"--measure", "sample", "--set", "sm.count=4", "--megabytes", "1"}}},
            {"isolate benchmark",
             {{"--gpu", "sim:gtx1080", "--set", "sm.count=2", "--ways", "walls", "--measure", "memory"}}},
            {"reproduce", {{"ciao", "--figures", "overhead"}}},
            {"report", {{path("good.json")}, {"--diff", path("good.json"), path("good.json")}}},
            {"gpus", {{}, {"tx2"}}}};
    }

    TemporaryDirectory folder_;
};

Words command(const std::string& verb, const Words& more) {
    std::istringstream words(verb);
    Words all{std::istream_iterator<std::string>(words), {}};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

/// Those whose help has the option.
std::set<std::string> verbsWith(const std::string& option, const std::string& above = "") {
    std::set<std::string> found;
    const std::string help = run(command(above, {"--help"})).out;
    if (help.find("\n  " + option + " ") != std::string::npos) found.insert(above);
    const std::size_t verbs = help.find("Verbs:\n");
    if (verbs == std::string::npos) return found;
    const std::string block = help.substr(verbs, help.find("\n\n", verbs) - verbs);
    const std::regex name("\n  ([a-z]+)  ");
    for (std::sregex_iterator i(block.begin(), block.end(), name), end; i != end; ++i)
        found.merge(verbsWith(option, above.empty() ? (*i)[1].str() : above + " " + (*i)[1].str()));
    return found;
}

TEST_F(JsonStream, EveryVerbIsHere) {
    std::set<std::string> here;
    for (const auto& [verb, all] : commands()) here.insert(verb);
    EXPECT_EQ(verbsWith("--json"), here);
}

TEST_F(JsonStream, StandardOutputIsJsonAndNothingElse) {
    for (const auto& [verb, all] : commands())
        for (const Words& more : all) {
            Words words = command(verb, more);
            words.insert(words.end(), {"--json", "-"});
            SCOPED_TRACE(verb + " " + (more.empty() ? "" : more.front()));
            const Outcome o = run(words);
            EXPECT_TRUE(o.exitCode == 0 || o.exitCode == 1) << o.err;
            EXPECT_TRUE(nlohmann::json::accept(o.out)) << o.out.substr(0, 200);
            EXPECT_TRUE(o.out.ends_with("}\n"));
        }
}

TEST_F(JsonStream, AResultIsWrittenAsSoonAsItIsReady) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string store = path("runs");
    const pid_t process = ::fork();
    if (process == 0) {
        ::dup2(ends[1], STDOUT_FILENO);
        ::close(ends[0]);
        ::close(ends[1]);
        // A figure of a few runs, then one of hundreds.
        ::execl(BULKHEAD_PROGRAM, BULKHEAD_PROGRAM, "reproduce", "ciao", "--figures", "1a,8a", "--size", "test",
                "--store", store.c_str(), "--json", "-", nullptr);
        ::_exit(127);
    }
    ::close(ends[1]);
    FILE* out = ::fdopen(ends[0], "r");
    std::vector<std::string> lines;
    const auto readLine = [&] {
        std::string line;
        int c = 0;
        while ((c = std::fgetc(out)) != EOF && c != '\n') line += static_cast<char>(c);
        lines.push_back(line);
        return c != EOF;
    };
    while (lines.size() < 2 && readLine()) {
    }
    ::kill(process, SIGKILL);
    while (readLine()) {
    }
    std::fclose(out);
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    // One result is there and whole, and the document is not at its end.
    ASSERT_GE(lines.size(), 2u);
    const std::string title = nlohmann::json::parse(lines[1])["title"];
    EXPECT_TRUE(title.starts_with("Figure 1a.")) << title;
    EXPECT_EQ(std::count(lines.begin(), lines.end(), "]}"), 0);
}

TEST_F(JsonStream, EachResultIsALineOfTheDocument) {
    const Outcome o = run({"compare", "--workloads", "VA", "--schedulers", "gto", "--size", "test", "--json", "-"});
    std::istringstream text(o.out);
    std::vector<nlohmann::json> results;
    for (std::string line; std::getline(text, line);)
        if (line.starts_with("{\"title\"")) results.push_back(nlohmann::json::parse(line));
    EXPECT_EQ(nlohmann::json::parse(o.out)["results"], nlohmann::json(results));
    EXPECT_GT(results.size(), 2u);
}

TEST_F(JsonStream, WhatAKernelPrintsGoesToStandardError) {
    EXPECT_EQ(run({"run", path("k.ptx")}).out.substr(0, 6), "hello\n");
    const Outcome o = run({"run", path("k.ptx"), "--json", "-"});
    EXPECT_TRUE(nlohmann::json::accept(o.out));
    EXPECT_NE(o.err.find("hello\n"), std::string::npos);
}

TEST_F(JsonStream, OnlyOneOutputGoesToStandardOutput) {
    const std::string part = "only one output can go to standard output";
    expectRefused({"compare", "--workloads", "VA", "--size", "test", "--json", "-", "--csv", "-"}, part);
    expectRefused({"compare", "--workloads", "VA", "--size", "test", "--json", "-", "--metrics", "ncu"}, part);
    expectRefused({"run", "VA", "--size", "test", "--json", "-", "--metrics", "ncu"}, part);
    expectRefused({"stress", "--samples", "1", "--json", "-", "--html", "-"}, part);
    expectRefused({"dissect", "--out", "-", "--json", "-"}, part);
    expectRefused({"calibrate", "--out", "-", "--json", "-"}, part);
    expectRefused({"report", path("good.json"), "--html", "-", "--json", "-"}, part);
    expectRefused({"gpus", "tx2", "--html", "-", "--json", "-"}, part);
}

/// How far it said to be, each time.
std::vector<double> progressIn(const std::string& said) {
    std::vector<double> shares;
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("{")) continue;
        const nlohmann::json told = nlohmann::json::parse(line);
        EXPECT_FALSE(told["text"].get<std::string>().empty());
        shares.push_back(told["progress"]);
    }
    return shares;
}

TEST_F(JsonStream, ProgressCanBeReadFromStandardError) {
    ::setenv("BULKHEAD_PROGRESS", "json", 1);
    const Outcome o = run({"compare", "--workloads", "VA", "--schedulers", "gto,lrr", "--size", "test", "--json", "-"});
    const Outcome found = run({"dissect", "--gpu", "sim:tx2", "--memory", "128", "--json", "-"});
    ::unsetenv("BULKHEAD_PROGRESS");
    EXPECT_TRUE(nlohmann::json::accept(o.out));
    EXPECT_EQ(progressIn(o.err), (std::vector<double>{0.5, 1}));  // of two runs
    const std::vector<double> steps = progressIn(found.err);
    EXPECT_GT(steps.size(), 3u);
    for (const double share : steps) EXPECT_TRUE(share >= 0 && share <= 1) << share;
}

}  // namespace
}  // namespace bulkhead::cli
