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
#include <nlohmann/json.hpp>

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

/// Where a worker of a real GPU waits for ever, nobody else does.
constexpr unsigned kPatienceSeconds = 120;

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
        if (failure.empty()) failure = other["failure"].get<std::string>();
    }
};

constexpr std::uint64_t kValues = kThreads * (kDoubles + kWords + kHalves + kPredicates + 3 * kSlotBytes / 4);

std::string wholeText(const Program& program) {
    return modulePrologue() + textOf(program, "k0");
}

class Worker {
  public:
    explicit Worker(const Options& options) : options_(options) {
        for (const std::string& name : options.gpus) {
            runners_.push_back(std::make_unique<Runner>(name));
            int version = 0;
            runners_.back()->gpu().api().cuDriverGetVersion(&version);
            tally_.gpus.push_back({{"gpu", name}, {"name", runners_.back()->gpu().info().name}, {"driver", version}});
        }
    }

    /// Every so many-th batch, beginning with this worker's.
    Json run(unsigned worker) {
        const std::uint64_t stride = std::uint64_t{options_.batch} * options_.workers;
        for (std::uint64_t at = std::uint64_t{options_.batch} * worker; at < options_.programs; at += stride) {
            if (isOver()) break;
            const std::uint64_t first = options_.first + at;
            const std::uint64_t size = std::min<std::uint64_t>(options_.batch, options_.programs - at);
            try {
                runBatch(first, size);
            } catch (const std::exception& error) {
                tally_.failure = fmt::format("programs {} to {}: {}", first, first + size - 1, error.what());
                break;
            }
        }
        return tally_.json();
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
            const std::vector<Outcome> outcomes = runner->run(programs);
            tally_.values += count * kValues;
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::string difference = differenceOf(expected[i], outcomes[i]);
                if (!difference.empty()) report(*runner, first + i, programs[i], difference);
            }
        }
        tally_.programs += count;
    }

    void report(Runner& runner, std::uint64_t index, const Program& program, const std::string& difference) {
        if (++tally_.differing > options_.show) return;
        const Program small = shrink(program, [&](const Program& candidate) {
            return !isOver() && !differenceOf(evaluate(candidate), runner.run({&candidate, 1})[0]).empty();
        });
        tally_.differences.push_back(
            {{"gpu", runner.gpu().name()},
             {"program", index},
             {"difference", difference},
             {"shrunken difference", differenceOf(evaluate(small), runner.run({&small, 1})[0])},
             {"shrunken", wholeText(small)},
             {"ptx", wholeText(program)}});
    }

    const Options& options_;
    const Clock::time_point end_ = Clock::now() + std::chrono::seconds(options_.seconds);
    std::vector<std::unique_ptr<Runner>> runners_;
    Tally tally_;
};

Json work(const Options& options, unsigned worker) {
    try {
        return Worker(options).run(worker);
    } catch (const std::exception& error) {
        Tally tally;
        tally.failure = error.what();
        return tally.json();
    }
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
            if (options.seconds) alarm(options.seconds + kPatienceSeconds);
            const std::string text = jsonText(work(options, w));
            FILE* const pipe = fdopen(ends[1], "w");
            std::fwrite(text.data(), 1, text.size(), pipe);
            std::fclose(pipe);
            _exit(0);
        }
        close(ends[1]);
        children.emplace_back(child, ends[0]);
    }
    Tally tally;
    for (const auto& [child, end] : children) {
        std::string text;
        char part[65536];
        for (ssize_t got; (got = read(end, part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(got));
        close(end);
        int status = 0;
        waitpid(child, &status, 0);
        const Json json = Json::parse(text, nullptr, false);
        if (json.is_discarded())
            tally.failure = fmt::format("a worker ended with status {}", status);
        else
            tally.add(json, options.show);
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
