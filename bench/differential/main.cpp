// Random PTX programs on GPUs, simulated or real, against what they must give by the definition of PTX:
//   bulkhead_differential --gpu sim:h200 --programs 100000 --workers 2
//   bulkhead_differential --gpu cuda:0 --gpu sim:h200 --seconds 300 --workers 16 --json FILE
// Ends with 1 if anything differs.

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "evaluator.h"
#include "generator.h"
#include "runner.h"
#include "shrink.h"

namespace {

using namespace bulkhead;
using namespace bulkhead::differential;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

struct Options {
    std::vector<std::string> gpus = {"sim:h200"};
    std::uint64_t seed = 1, first = 0, programs = 10000, print = 0;
    unsigned batch = 200, workers = 1, show = 5, seconds = 0;
    std::string json;
};

constexpr std::uint64_t kNoEnd = std::uint64_t{1} << 62;

/// A program that a real GPU is not done with after so long ends its worker, and no other.
constexpr unsigned kPatienceSeconds = 60;

/// What a worker found, and what all of them did together.
struct Tally {
    std::uint64_t programs = 0, instructions = 0, values = 0, differing = 0;
    Json differences = Json::array();
    Json gpus = Json::array();
    std::string failure;

    Json json() const {
        return {{"programs", programs},   {"instructions", instructions}, {"values", values},
                {"differing", differing}, {"differences", differences},   {"gpus", gpus},
                {"failure", failure}};
    }
    void add(const Json& other, unsigned most) {
        programs += other["programs"].get<std::uint64_t>();
        instructions += other["instructions"].get<std::uint64_t>();
        values += other["values"].get<std::uint64_t>();
        differing += other["differing"].get<std::uint64_t>();
        for (const Json& one : other["differences"])
            if (differences.size() < most) differences.push_back(one);
        if (gpus.empty()) gpus = other["gpus"];
        fail(other["failure"].get<std::string>());
    }
    void fail(const std::string& why) {
        if (!why.empty()) failure += (failure.empty() ? "" : "; ") + why;
    }
};

constexpr std::uint64_t kValues = kThreads * (kDoubles + kWords + kHalves + kPredicates + 3 * kSlotBytes / 4);

std::string wholeText(const Program& program) {
    return modulePrologue() + textOf(program, "k0");
}

class Worker {
  public:
    /// `say` is told before every batch what was found so far.
    Worker(const Options& options, std::function<void(const Tally&)> say) : options_(options), say_(std::move(say)) {
        for (const std::string& name : options.gpus) {
            runners_.push_back(std::make_unique<Runner>(name));
            int version = 0;
            runners_.back()->gpu().api().cuDriverGetVersion(&version);
            tally_.gpus.push_back({{"gpu", name}, {"name", runners_.back()->gpu().info().name}, {"driver", version}});
        }
    }

    /// Every so many-th batch, beginning with this worker's.
    Tally run(unsigned worker) {
        const std::uint64_t stride = std::uint64_t{options_.batch} * options_.workers;
        for (std::uint64_t at = std::uint64_t{options_.batch} * worker; at < options_.programs; at += stride) {
            if (isOver()) break;
            const std::uint64_t first = options_.first + at;
            const std::uint64_t size = std::min<std::uint64_t>(options_.batch, options_.programs - at);
            const std::string which = fmt::format("programs {} to {}", first, first + size - 1);
            tally_.failure = which + ": the worker was ended";  // unless it goes on
            say_(tally_);
            try {
                runBatch(first, size);
                tally_.failure.clear();
            } catch (const std::exception& error) {
                tally_.failure = which + ": " + error.what();
                break;
            }
        }
        return tally_;
    }

  private:
    bool isOver() const { return options_.seconds && Clock::now() >= end_; }

    void runBatch(std::uint64_t first, std::uint64_t count) {
        std::vector<Program> programs;
        std::vector<Data> expected;
        for (std::uint64_t i = 0; i < count; ++i) {
            programs.push_back(generate(options_.seed, first + i));
            expected.push_back(evaluate(programs.back()));
            tally_.instructions += programs.back().instructions();
        }
        for (const std::unique_ptr<Runner>& runner : runners_) {
            const std::vector<Outcome> outcomes = outcomesOf(*runner, programs);
            tally_.values += count * kValues;
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::string difference = differenceOf(expected[i], outcomes[i]);
                if (!difference.empty()) report(*runner, first + i, programs[i], difference);
            }
        }
        tally_.programs += count;
    }

    std::vector<Outcome> outcomesOf(Runner& runner, std::span<const Program> programs) const {
        if (options_.seconds) alarm(kPatienceSeconds);
        std::vector<Outcome> outcomes = runner.run(programs);
        alarm(0);
        return outcomes;
    }

    void report(Runner& runner, std::uint64_t index, const Program& program, const std::string& difference) {
        if (++tally_.differing > options_.show) return;
        const Program small = shrink(program, [&](const Program& candidate) {
            return !isOver() && !differenceOf(evaluate(candidate), outcomesOf(runner, {&candidate, 1})[0]).empty();
        });
        tally_.differences.push_back(
            {{"gpu", runner.gpu().name()},
             {"program", index},
             {"difference", difference},
             {"shrunken difference", differenceOf(evaluate(small), outcomesOf(runner, {&small, 1})[0])},
             {"shrunken", wholeText(small)},
             {"ptx", wholeText(program)}});
    }

    const Options& options_;
    const std::function<void(const Tally&)> say_;
    const Clock::time_point end_ = Clock::now() + std::chrono::seconds(options_.seconds);
    std::vector<std::unique_ptr<Runner>> runners_;
    Tally tally_;
};

/// A line of JSON for what was found so far, again and again: the last one counts, also where a worker is ended.
void work(const Options& options, unsigned worker, int pipe) {
    const auto say = [pipe](const Tally& tally) {
        const std::string line = jsonText(tally.json()) + "\n";
        for (std::size_t done = 0; done < line.size();) {
            const ssize_t written = write(pipe, line.data() + done, line.size() - done);
            if (written < 0) _exit(1);
            done += static_cast<std::size_t>(written);
        }
    };
    try {
        say(Worker(options, say).run(worker));
    } catch (const std::exception& error) {
        Tally tally;
        tally.failure = error.what();
        say(tally);
    }
}

/// What a worker said last, and all of it.
Json lastSaid(int pipe) {
    std::string text;
    char part[65536];
    for (ssize_t got; (got = read(pipe, part, sizeof part)) > 0;) {
        text.append(part, static_cast<std::size_t>(got));
        const std::size_t end = text.rfind('\n');
        if (end == std::string::npos || end == 0) continue;
        const std::size_t before = text.rfind('\n', end - 1);
        if (before != std::string::npos) text.erase(0, before + 1);
    }
    const std::size_t end = text.find('\n');
    return end == std::string::npos ? Json() : Json::parse(text.substr(0, end));
}

/// Each worker is a process: one driver compiles for one of them at a time, and a GPU that fails takes only one down.
Tally runWorkers(const Options& options) {
    std::vector<std::pair<pid_t, int>> children;
    for (unsigned w = 0; w < options.workers; ++w) {
        int ends[2];
        if (pipe(ends) != 0) throw Error("cannot make a pipe");
        const pid_t child = fork();
        if (child < 0) throw Error("cannot make a process");
        if (child == 0) {
            close(ends[0]);
            work(options, w, ends[1]);
            _exit(0);
        }
        close(ends[1]);
        children.emplace_back(child, ends[0]);
    }
    std::vector<Json> said(children.size());
    {
        std::vector<std::jthread> readers;
        for (std::size_t i = 0; i < children.size(); ++i)
            readers.emplace_back([&, i] { said[i] = lastSaid(children[i].second); });
    }
    Tally tally;
    for (std::size_t i = 0; i < children.size(); ++i) {
        close(children[i].second);
        int status = 0;
        waitpid(children[i].first, &status, 0);
        if (said[i].is_null())
            tally.fail(fmt::format("a worker ended with status {}", status));
        else
            tally.add(said[i], options.show);
    }
    return tally;
}

int run(const Options& options) {
    const auto begun = Clock::now();
    const Tally tally = runWorkers(options);
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    for (const Json& one : tally.differences)
        fmt::print(stderr, "{}, program {}: {}\nshrunken: {}\n{}\n", one["gpu"].get<std::string>(),
                   one["program"].get<std::uint64_t>(), one["difference"].get<std::string>(),
                   one["shrunken difference"].get<std::string>(), one["shrunken"].get<std::string>());
    if (!tally.failure.empty()) fmt::print(stderr, "bulkhead_differential: {}\n", tally.failure);
    Json json = {{"version", BULKHEAD_VERSION},
                 {"seed", options.seed},
                 {"first", options.first},
                 {"seconds", seconds},
                 {"programs a second", static_cast<double>(tally.programs) / seconds}};
    const std::time_t now = std::time(nullptr);
    char date[32];
    std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
    json["date"] = date;
    json.update(tally.json());
    const std::string text = jsonText(json, 2) + "\n";
    if (options.json.empty())
        fmt::print("{}", text);
    else
        writeFile(options.json, text);
    const bool complete = tally.failure.empty() && (options.seconds || tally.programs == options.programs);
    return !complete ? 2 : tally.differing ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
    // Programs differ from run to run: keeping what the driver made of them would only cost time.
    setenv("CUDA_CACHE_DISABLE", "1", 0);
    Options options;
    CLI::App app{"Random PTX programs on GPUs, against what they must give"};
    app.add_option("--gpu", options.gpus, "sim:NAME or cuda:N; several are compared one after the other");
    auto* const programs =
        app.add_option("--programs", options.programs, "how many, if --seconds does not end them before")
            ->check(CLI::Range(std::uint64_t{1}, kNoEnd));
    auto* const seconds =
        app.add_option("--seconds", options.seconds, "begin no batch after so long")->check(CLI::Range(1u, 1'000'000u));
    app.add_option("--seed", options.seed, "of the programs");
    app.add_option("--first", options.first, "number of the first program");
    app.add_option("--batch", options.batch, "programs in one module")->check(CLI::Range(1, 10000));
    app.add_option("--workers", options.workers, "processes")->check(CLI::Range(1, 256));
    app.add_option("--show", options.show, "how many differences are told in full");
    app.add_option("--json", options.json, "a file for the summary, instead of standard output");
    auto* const print = app.add_option("--print", options.print, "print this program, and run nothing");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help
        fmt::print(stderr, "bulkhead_differential: {}\n", error.what());
        return 2;
    }
    if (*seconds && !*programs) options.programs = kNoEnd;
    try {
        if (*print) {
            fmt::print("{}", wholeText(generate(options.seed, options.print)));
            return 0;
        }
        return run(options);
    } catch (const std::exception& error) {
        fmt::print(stderr, "bulkhead_differential: {}\n", error.what());
        return 2;
    }
}
