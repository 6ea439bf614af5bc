// Nonsense for every verb and every option that its help names, so that new ones are covered by themselves.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include "base/files.h"
#include "base/json.h"
#include "base/printable.h"
#include "base/random.h"
#include "cli/command.h"
#include "temporary_directory.h"

namespace bulkhead::cli {
namespace {

using Words = std::vector<std::string>;

/// Far more than it takes to refuse something. What was not refused is ended then.
constexpr unsigned kPatienceS = 10;
/// Likewise for a second of work.
constexpr unsigned kPatienceAtWorkS = 60;

/// An option or a positional argument, as help lists it.
struct Argument {
    std::string name, type, heading, description;

    bool positional() const { return !name.starts_with("-"); }
    bool isOutput() const { return description.starts_with("write"); }
    bool isCount() const { return isOneOf(" N BYTES MB PERCENT "); }
    bool isQuantity() const { return isOneOf(" SECONDS GB/S PROBABILITY "); }
    bool isName() const {
        return isOneOf(" GPU NAME SIZE WAY METHOD HOW PARTITIONS SHAPE VALUE PLACE OPTIONS COMMAND ");
    }
    bool isOneOf(const std::string& types) const { return types.find(" " + type + " ") != std::string::npos; }
};

std::vector<Argument> listed(const std::string& help) {
    const std::regex option(R"(^  (?:-\w,)?(--[\w-]+)(?: ([A-Z]\S*?)(?:=\S*)?)?(?: \.\.\.)?(?:  +(\S.*))?$)");
    const std::regex special(R"(^  (--[\w-]+) (KEY=VALUE|N=FILE)(?: \.\.\.)?  +(\S.*)$)");
    const std::regex positional(R"(^  ([A-Z|]+)(?: \.\.\.)?(?: REQUIRED)?  +(\S.*)$)");
    std::vector<Argument> all;
    std::istringstream lines(help.substr(0, help.find("Examples:\n")));
    std::string heading;
    for (std::string line; std::getline(lines, line);) {
        std::smatch m;
        if (line.ends_with(":") && !line.starts_with(" ")) heading = line.substr(0, line.size() - 1);
        if (std::regex_match(line, m, special) || std::regex_match(line, m, option)) {
            all.push_back({m[1], m[2], heading, m[3]});
        } else if (heading == "Positionals" && std::regex_match(line, m, positional)) {
            all.push_back({m[1], m[1] == "FOLDER" ? "FOLDER" : "NAME", heading, m[2]});
        } else if (line.starts_with("          ") && !all.empty() && all.back().description.empty()) {
            all.back().description = line.substr(line.find_first_not_of(' '));
        }
    }
    return all;
}

/// A verb with what it needs to be able to begin.
struct Start {
    Words verb, positionals;
    std::vector<std::pair<std::string, std::string>> options = {};
    std::string only = {};  ///< the arguments below this heading; all if empty
};

/// A GTX 1080 of one memory module: it is dissected in a second.
std::string smallProfile() {
    nlohmann::json profile = readJson(BULKHEAD_SOURCE_DIR "/profiles/gtx1080.json");
    profile["map"]["value"] = nlohmann::json::parse(
        R"({"slice": [], "set": [{"xor": [[7, 18], [8, 19], [9, 20], [10, 21], [11], [12], [13]]}],
            "bank": [{"xor": [[14, 22], [15, 23], [16, 24], [17, 25]]}], "row": [{"bits": [18, 39]}],
            "slicesPerChannel": 1})");
    profile["l2"]["bytes"]["value"] = 128 * 16 * 128;  // sets, ways, bytes of a line
    return profile.dump();
}

class Nonsense : public testing::Test {
  protected:
    void SetUp() override {
        ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
        writeFile(path("garbage"), std::string("\x7f"
                                               "ELF\0\xff\xfe\n{[",
                                               10));
        writeFile(path("empty"), "");
        writeFile(path("deep"), std::string(200'000, '['));
        writeFile(path("list"), "[1, 2]");
        writeFile(path("good.json"), R"({"title": "t", "columns": [{"name": "n", "unit": ""}], "rows": [{"n": 1}]})");
        writeFile(path("small.json"), smallProfile());
        writeFile(path("k.ptx"), ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n");
        const Outcome set = run({"isolate", "set", "--partitions", "a=50%,b=50%", "--leases", path("leases")});
        ASSERT_EQ(set.exitCode, 0) << set.err;
    }

    std::string path(const std::string& name) const { return (folder_ / name).string(); }

    /// Every verb, and every verb below one, at least once; several times where its arguments depend on another.
    std::vector<Start> starts() const {
        using Options = std::vector<std::pair<std::string, std::string>>;
        const Options quickStress = {
            {"--aggressors", "compute"}, {"--samples", "1"}, {"--accesses", "256"}, {"--victim-bytes", "16384"}};
        const Options overhead = {{"--figures", "overhead"}};
        const Options table1 = {{"--figures", "table1"}, {"--samples", "1"}, {"--accesses", "256"}};
        const std::map<std::string, std::vector<Start>> special = {
            {"run", {{{}, {"VA"}, {{"--size", "test"}}}, {{}, {path("k.ptx")}, {}, "Options for a PTX file"}}},
            {"workloads", {{{}, {"VA"}, {{"--measure", ""}}}}},
            {"compare", {{{}, {}, {{"--workloads", "VA"}, {"--schedulers", "gto"}, {"--size", "test"}}}}},
            {"correlate",
             {{{}, {"VA"}, {{"--gpu", "sim:gtx480"}, {"--size", "test"}}, "Options"},
              {{}, {path("k.ptx")}, {{"--gpu", "sim:gtx480"}}, "Options for PTX files"}}},
            {"stress", {{{}, {}, quickStress}}},
            {"dissect", {{{}, {}, {{"--gpu", "sim:" + path("small.json")}, {"--memory", "128"}}}}},
            {"reproduce",
             {{{}, {"ciao"}, overhead}, {{}, {"interference"}, table1}, {{}, {"fgpu"}}, {{}, {"all"}, overhead}}},
            {"isolate evaluate",
             {{{}, {}, {{"--applications", "VA"}, {"--neighbours", "VA"}, {"--methods", "cp"}, {"--size", "test"}}}}},
            {"isolate cost", {{{}, {}, {{"--measure", "sample"}, {"--set", "sm.count=4"}, {"--megabytes", "1"}}}}},
            {"isolate benchmark", {{{}, {}, {{"--measure", "launches"}, {"--ways", "mps"}, {"--set", "sm.count=4"}}}}},
            {"isolate list", {{{}, {}, {{"--leases", path("leases")}}}}},
            {"report", {{{}, {path("good.json")}, {{"--html", path("page.html")}}}}},
            {"serve", {{{}, {path("garbage")}}}},  // it would not end by itself in a folder
            {"exec", {{{}, {"/bin/true"}}}},
            {"gpus", {{{}, {"tx2"}}}},
            {"completion", {{{}, {"bash"}}}},
            {"isolate plan", {{{}, {}, {{"--partitions", "a=50%,b=50%"}}}}},
            {"isolate set", {{{}, {}, {{"--partitions", "a=50%,b=50%"}, {"--leases", path("leases")}}}}},
            {"isolate run", {{{}, {"/bin/true"}, {{"--partition", "a"}, {"--leases", path("leases")}}}}},
            {"isolate stop", {{{}, {}, {{"--partition", "a"}, {"--leases", path("leases")}}}}},
        };
        std::vector<Start> all;
        const std::function<void(const Words&)> visit = [&](const Words& verb) {
            Words help = verb;
            help.push_back("--help");
            const std::string text = run(help).out;
            const std::regex below("\n  ([a-z]+)  ");
            const std::size_t verbs = text.find("Verbs:\n");
            const std::string block =
                verbs == std::string::npos ? "" : text.substr(verbs, text.find("\n\n", verbs) - verbs);
            for (std::sregex_iterator i(block.begin(), block.end(), below), end; i != end; ++i) {
                Words longer = verb;
                longer.push_back((*i)[1]);
                visit(longer);
            }
            std::string name;
            for (const std::string& word : verb) name += (name.empty() ? "" : " ") + word;
            const auto found = special.find(name);
            const std::vector<Start> usual = {{}};
            for (Start start : found == special.end() ? usual : found->second) {
                start.verb = verb;
                all.push_back(std::move(start));
            }
        };
        visit({});
        return all;
    }

    static std::vector<Argument> argumentsOf(const Start& start) {
        Words help = start.verb;
        help.push_back("--help");
        std::vector<Argument> chosen;
        for (Argument& a : listed(run(help).out))
            if (start.only.empty() || start.only == a.heading) chosen.push_back(std::move(a));
        return chosen;
    }

    /// The command with this argument in the place of its own, if it has one.
    static Words with(const Start& start, const Argument& argument, const std::string& value) {
        Words words = start.verb;
        for (const auto& [option, its] : start.options) {
            if (option == argument.name) continue;
            words.push_back(option);
            if (!its.empty()) words.push_back(its);
        }
        if (argument.positional()) {
            words.push_back(value);
            return words;
        }
        words.insert(words.end(), {argument.name, value, "--"});
        words.insert(words.end(), start.positionals.begin(), start.positionals.end());
        if (start.positionals.empty()) words.pop_back();
        return words;
    }

    /// Refused in a line that names the argument or the value.
    static void expectRefusal(const Start& start, const Argument& argument, const std::string& value) {
        const Words words = with(start, argument, value);
        const Outcome o = run(words, {{}, {}, kPatienceS});
        std::string command = "bulkhead";
        for (const std::string& word : words) command += " '" + word + "'";
        EXPECT_EQ(o.exitCode, 2) << command << "\n" << o.err;
        EXPECT_EQ(o.out, "") << command;
        EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << command << "\n" << o.err;
        EXPECT_TRUE(o.err.starts_with("bulkhead: ")) << command << "\n" << o.err;
        EXPECT_TRUE(speaksOf(o.err, argument, value)) << command << "\n" << o.err;
    }

    /// It holds the argument's name, the value, or the part of it that is wrong.
    static bool speaksOf(const std::string& message, const Argument& argument, const std::string& value) {
        Words words = {argument.name.substr(argument.name.find_first_not_of('-')), value,
                       value.substr(value.find(':') + 1), value.substr(0, value.find('='))};
        if (argument.name == "--gpu") words.insert(words.end(), {"GPU", "NVIDIA driver"});
        return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
            return !word.empty() && message.find(printable(word)) != std::string::npos;
        });
    }

    using Values = std::function<Words(const Argument&)>;

    /// Every argument of every verb gets these.
    void refuseEverywhere(const Values& values) {
        int tried = 0;
        for (const Start& start : starts())
            for (const Argument& argument : argumentsOf(start))
                for (const std::string& value : values(argument)) {
                    expectRefusal(start, argument, value);
                    ++tried;
                }
        EXPECT_GT(tried, 0);
    }

    TemporaryDirectory folder_;
};

TEST_F(Nonsense, ArgumentsAreOfKindsThatAreTested) {
    for (const Start& start : starts())
        for (const Argument& a : argumentsOf(start))
            EXPECT_TRUE(a.type.empty() || a.isCount() || a.isQuantity() || a.isName() ||
                        a.isOneOf(" TEXT FILE DIR FOLDER KEY=VALUE N=FILE "))
                << a.name << " " << a.type;
}

TEST_F(Nonsense, CountsThatAreNoneAreRefused) {
    refuseEverywhere([](const Argument& a) {
        return a.isCount() ? Words{"-1", "nan", "1.5", "many", "", "99999999999999999999999999"} : Words();
    });
}

TEST_F(Nonsense, CountsBeyondAllMeasureAreRefused) {
    // Any number will do to begin random numbers with, and a limit may be out of reach.
    const std::string without = " --seed --limit --max-cycles ";
    refuseEverywhere([&](const Argument& a) {
        const bool counts = a.isCount() && without.find(" " + a.name + " ") == std::string::npos;
        return counts ? Words{"18446744073709551615", "9223372036854775808"} : Words();
    });
}

TEST_F(Nonsense, QuantitiesThatAreNoneAreRefused) {
    refuseEverywhere(
        [](const Argument& a) { return a.isQuantity() ? Words{"-1", "nan", "inf", "1e999", "many", ""} : Words(); });
}

TEST_F(Nonsense, UnknownNamesAreRefused) {
    refuseEverywhere([](const Argument& a) { return a.isName() ? Words{"no such thing", "\x7f\xff\xfe"} : Words(); });
}

TEST_F(Nonsense, FilesInThePlaceOfNamesAreRefused) {
    refuseEverywhere([&](const Argument& a) {
        return a.isName() ? Words{path("garbage"), folder_.path().string(), path("none")} : Words();
    });
}

TEST_F(Nonsense, GpusThatAreNoneAreRefused) {
    refuseEverywhere([&](const Argument& a) {
        return a.name == "--gpu" ? Words{"",
                                         "sim:",
                                         "sim:gtx9999",
                                         "cuda:99",
                                         "cuda:-1",
                                         "cuda:",
                                         "cuda:one",
                                         "cuda:1e9",
                                         "sim:" + path("garbage"),
                                         "sim:" + path("good.json"),
                                         "sim:" + folder_.path().string()}
                                 : Words();
    });
}

TEST_F(Nonsense, SettingsThatAreNoneAreRefused) {
    refuseEverywhere([](const Argument& a) {
        return a.type == "KEY=VALUE" ? Words{"",         "=",          "l1.ways",
                                             "l1.ways=", "l1.ways=-4", "l1.ways=nan",
                                             "=4",       "l1.wais=4",  "l1.ways=99999999999999999999"}
                                     : Words();
    });
}

TEST_F(Nonsense, BuffersThatAreNoneAreRefused) {
    refuseEverywhere([](const Argument& a) {
        return a.type == "N=FILE" ? Words{"=", "0", "0=", "-1=f", "9=f", "one=f", "99999999999999999999=f"} : Words();
    });
}

TEST_F(Nonsense, EmptyValuesAreRefused) {
    refuseEverywhere([](const Argument& a) { return a.type.empty() || a.positional() ? Words() : Words{""}; });
}

TEST_F(Nonsense, FilesThatCannotBeReadAreRefused) {
    refuseEverywhere([&](const Argument& a) {
        const bool input = (a.type == "FILE" && !a.isOutput()) || a.name == "FILES";
        return input
                   ? Words{path("none"), path("garbage/none"), folder_.path().string(), path("garbage"), path("empty"),
                           path("deep"), path("list"),         "/proc/self/mem"}
                   : Words();
    });
}

TEST_F(Nonsense, FilesThatCannotBeWrittenAreRefusedBeforeTheWork) {
    refuseEverywhere([&](const Argument& a) {
        return a.type == "FILE" && a.isOutput()
                   ? Words{path("none/file"), path("garbage/file"), folder_.path().string(), "/proc/file"}
                   : Words();
    });
}

TEST_F(Nonsense, FoldersThatCannotBeWrittenAreRefusedBeforeTheWork) {
    refuseEverywhere([&](const Argument& a) {
        return a.type == "FOLDER" || a.type == "DIR" ? Words{path("garbage"), path("garbage/folder"), "/proc/folder"}
                                                     : Words();
    });
}

TEST_F(Nonsense, ZeroIsRefusedWhereHelpDoesNotSayWhatItMeans) {
    const std::string without = " --seed --target --shared ";  // where it is a number like any other
    refuseEverywhere([&](const Argument& a) {
        const bool counts = a.isCount() && without.find(" " + a.name + " ") == std::string::npos;
        return counts && a.description.find("0: ") == std::string::npos ? Words{"0"} : Words();
    });
}

/// A command that may do anything but end in disorder.
struct Trial {
    Words words;

    std::string text() const {
        std::string command = "bulkhead";
        for (const std::string& word : words) command += " '" + word.substr(0, 100) + "'";
        return command;
    }

    /// Done, a check that failed, or one line that says what is wrong, in the program's own words and in good time.
    void expectOrder() const {
        const Outcome o = run(words, {{}, {}, kPatienceAtWorkS});
        EXPECT_TRUE(o.exitCode >= 0 && o.exitCode <= 2) << text() << "\nended with " << o.exitCode << "\n" << o.err;
        if (o.exitCode == 2) {
            EXPECT_EQ(std::count(o.err.begin(), o.err.end(), '\n'), 1) << text() << "\n" << o.err;
            EXPECT_TRUE(o.err.starts_with("bulkhead: ")) << text() << "\n" << o.err;
        }
        for (const char* foreign : {"json.exception", "std::", "terminate", "basic_string", "vector::", "bad_alloc",
                                    "filesystem error", "stoul", "stod", "_M_", "runtime error:"})
            EXPECT_EQ(o.err.find(foreign), std::string::npos) << text() << "\n" << o.err;
    }
};

TEST_F(Nonsense, AnythingForAnyOptionEndsInOrder) {
    const TemporaryDirectory here;  // for what is written by a name that nonsense is
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(here.path());
    std::filesystem::create_directory(path("folder"));
    const Words values = {"",
                          "0",
                          "-1",
                          "1e308",
                          "nan",
                          "18446744073709551616",
                          std::string(100'000, 'x'),
                          "\xff\xfe",
                          path("none"),
                          path("folder"),
                          path("garbage"),
                          "/dev/null",
                          "/proc/self/mem"};
    const Words outputs = {"", std::string(100'000, 'x'), "\xff\xfe", path("folder"), "/dev/null", "/proc/self/mem"};
    std::vector<Trial> trials;
    for (Start start : starts()) {
        // A demonstration takes a minute, a paper hours: what is asked for last is what is refused.
        const bool demo = start.verb == Words{"demo"}, paper = start.positionals == Words{"fgpu"},
                   serves = start.verb == Words{"serve"};
        if (paper) start.options.emplace_back("--figures", "none");
        for (const Argument& argument : argumentsOf(start)) {
            if (argument.type.empty()) continue;
            Start refused = start;
            if (demo && argument.name == "--store") refused.options.emplace_back("--gpu", "sim:none");
            // A server ends when it is told to.
            if (serves && argument.name == "FOLDER") refused.options.emplace_back("--store", path("garbage"));
            if (demo && argument.name != "--store") refused.options.emplace_back("--store", path("garbage"));
            // A file to write may be called anything: names are tried once, not each with all of the work.
            for (const std::string& value : argument.isOutput() ? outputs : values)
                trials.push_back({with(refused, argument, value)});
        }
    }
    EXPECT_GT(trials.size(), 1000u);
    std::atomic<std::size_t> next = 0;
    const auto work = [&] {
        for (std::size_t i = next++; i < trials.size(); i = next++) trials[i].expectOrder();
    };
    std::thread other(work);
    work();
    other.join();
    std::filesystem::current_path(before);
}

TEST_F(Nonsense, AnyDamageToAJsonFileEndsInOrder) {
    const std::string map = readFile(BULKHEAD_SOURCE_DIR "/results/h200/dissect.json");
    const std::map<std::string, std::pair<std::string, Words>> readers = {
        {readFile(BULKHEAD_SOURCE_DIR "/profiles/tx2.json"), {"profile.json", {"gpus", path("profile.json")}}},
        {readFile(path("good.json")), {"result.json", {"report", path("result.json"), "--html", "/dev/null"}}},
        {R"({"gpu": "sim:tx2", "victim": {"accesses": 64, "bytes": 4096}, "samples": 1, "aggressors": [{"kind": "compute",
             "lanes": 2, "duty_percent": 50, "gb_per_s": 1.5, "bytes": 0, "sms": [1]}], "exceedance": 0.001})",
         {"scenario.json", {"stress", "--scenario", path("scenario.json")}}},
        {R"({"partitions": [{"name": "A", "sms": "50%", "memory": "50%", "tenants": 2}]})",
         {"partitions.json", {"isolate", "plan", "--partitions", path("partitions.json")}}},
        {map, {"map.json", {"isolate", "plan", "--partitions", "2", "--map", path("map.json")}}}};
    // What stands in the place of a number or of anything else.
    const Words instead = {"1e3082", "1e30", "-1", "18446744073709551616", "-9223372036854775809", "1.5", "\"x\"",
                           "null",   "[]",   "{}"};
    Random random(5);
    for (const auto& [good, reader] : readers)
        for (int round = 0; round < 30; ++round) {
            std::string damaged = good;
            std::smatch number;
            const auto from = damaged.cbegin() + static_cast<std::ptrdiff_t>(random.below(damaged.size()));
            if (round % 3 && std::regex_search(from, damaged.cend(), number, std::regex(R"([:\[ ](-?\d[\d.e+-]*))"))) {
                damaged.replace(static_cast<std::size_t>(number[1].first - damaged.cbegin()),
                                static_cast<std::size_t>(number[1].length()), instead[random.below(instead.size())]);
            } else {
                damaged[random.below(damaged.size())] = static_cast<char>(random.next());
            }
            std::ofstream(path(reader.first), std::ios::binary) << damaged;
            Trial{reader.second}.expectOrder();
        }
}

TEST_F(Nonsense, FilesWithoutAnEndAreRefused) {
    expectRefused({"report", "/dev/zero", "--html", path("page.html")}, "/dev/zero");
    expectRefused({"run", "/dev/zero"}, "/dev/zero");
    expectRefused({"run", path("k.ptx"), "--arg", "f32[4]=file:/dev/urandom"}, "holds more than the 16 bytes");
    expectRefused({"gpus", "/dev/urandom"}, "/dev/urandom");
}

TEST_F(Nonsense, PipesAreReadWhereFilesAre) {
    const auto shell = [&](const std::string& command) {
        writeFile(path("ask"), command + "\n");
        return std::system(("bash '" + path("ask") + "'").c_str());
    };
    const std::string program = "'" BULKHEAD_PROGRAM "' ", good = "'" + path("good.json") + "'";
    EXPECT_EQ(shell(program + "report <(cat " + good + ") --html /dev/null"), 0);
    EXPECT_EQ(shell(program + "report /dev/stdin --html /dev/null < " + good), 0);
    EXPECT_EQ(shell("cat " + good + " | " + program + "report /dev/stdin --html /dev/null"), 0);
}

TEST_F(Nonsense, FilesThatAreNoProgramsAreNotBuilt) {
    writeFile(path("garbage.cu"), readFile(path("garbage")));
    writeFile(path("good.cu"), "int main() {}\n");
    expectRefused({"cc", path("none.cu")}, "none.cu: no such file");
    expectRefused({"cc", folder_.path().string()}, "is a directory");
    expectRefused({"cc", path("garbage.cu")}, "garbage.cu: is not a text file");
    expectRefused({"cc", path("good.cu"), "-o", path("none/program")}, "none/program: cannot be written");
    expectRefused({"cc", path("good.cu"), "-o", folder_.path().string()}, "is a directory");
}

/// Commands that take a moment, and write the file or into the folder that comes last.
std::vector<Words> quickWriters(const std::function<std::string(const std::string&)>& path) {
    const Words stress = {"stress", "--aggressors", "compute", "--samples", "1", "--accesses", "256"};
    const Words overhead = {"reproduce", "ciao", "--figures", "overhead"};
    std::vector<Words> all = {{"gpus", "--json"},
                              {"workloads", "--json"},
                              {"run", "VA", "--size", "test", "--json"},
                              {"run", path("k.ptx"), "--json"},
                              {"run", path("k.ptx"), "--timeline"},
                              {"isolate", "plan", "--partitions", "a=50%,b=50%", "--json"},
                              {"isolate", "list", "--leases", path("leases"), "--json"},
                              {"report", path("good.json"), "--html"}};
    for (const char* option : {"--json", "--csv", "--html"}) {
        all.push_back(stress);
        all.back().push_back(option);
    }
    for (const char* option : {"--json", "--html"}) {
        all.push_back(overhead);
        all.back().push_back(option);
    }
    return all;
}

TEST_F(Nonsense, AFullDiskLeavesTheOldFileAndNothingElse) {
    const TemporaryDirectory target;
    const std::string file = (target / "old").string();
    writeFile(file, "old");
    const auto at = [&](const std::string& name) { return path(name); };
    for (Words words : quickWriters(at)) {
        SCOPED_TRACE(words.front() + " " + words.back());
        words.push_back(file);
        Surroundings full;
        full.diskBytes = 16;
        full.out = "/dev/null";
        const Outcome o = run(words, full);
        EXPECT_EQ(o.exitCode, 2) << o.err;
        EXPECT_EQ(readFile(file), "old");
        EXPECT_EQ(std::distance(std::filesystem::directory_iterator(target.path()), {}), 1);
    }
}

TEST_F(Nonsense, AFullDeviceIsToldOf) {
    for (const Words& words :
         {Words{"gpus", "--json"}, {"report", path("good.json"), "--html"}, {"run", path("k.ptx"), "--timeline"}}) {
        Words all = words;
        all.push_back("/dev/full");
        expectRefused(all, "/dev/full: cannot be written: No space left on device");
    }
}

TEST_F(Nonsense, StandardOutputThatCannotBeWrittenIsToldOf) {
    const std::vector<Words> commands = {{"--help"},
                                         {"--version"},
                                         {"stress", "--help"},
                                         {"gpus"},
                                         {"gpus", "tx2"},
                                         {"workloads"},
                                         {"man"},
                                         {"completion", "bash"},
                                         {"stress", "--list"},
                                         {"run", path("k.ptx"), "--json", "-"},
                                         {"report", path("good.json"), "-o", "-"},
                                         {"isolate", "plan", "--partitions", "a=50%,b=50%"}};
    for (const char* out : {"", "/dev/full"})
        for (const Words& words : commands) {
            Surroundings around;
            around.out = out;
            expectRefused(words, "cannot write to standard output", around);
        }
}

TEST_F(Nonsense, AReaderThatIsGoneEndsItQuietly) {
    writeFile(path("ask"), "'" BULKHEAD_PROGRAM "' man 2>'" + path("said") + "' | true\n");
    EXPECT_EQ(std::system(("bash '" + path("ask") + "'").c_str()), 0);
    EXPECT_EQ(readFile(path("said")), "");
}

}  // namespace
}  // namespace bulkhead::cli
