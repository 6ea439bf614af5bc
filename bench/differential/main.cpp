// Random PTX programs on GPUs, simulated or real, against what they must give by the definition of PTX:
//   bulkhead_differential --gpu sim:h200 --programs 100000 --workers 2
//   bulkhead_differential --gpu cuda:0 --gpu sim:h200 --seconds 300 --workers 16 --json FILE
// Ends with 1 if anything differs or is not answered.

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <span>

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
    unsigned batch = 200, workers = 1, show = 5, seconds = 0, patience = 30;
    std::string json;
};

constexpr std::uint64_t kNoEnd = std::uint64_t{1} << 62;

constexpr std::size_t kMostUnanswered = 200;

/// What workers found.
struct Tally {
    std::uint64_t programs = 0, leftOut = 0, instructions = 0, values = 0, differing = 0;
    Json differences = Json::array();
    Json gpus = Json::array();
    Json unanswered = Json::array();  ///< batches that ended their worker, and how

    Json json() const {
        return {
            {"programs", programs},   {"left out", leftOut},        {"instructions", instructions}, {"values", values},
            {"differing", differing}, {"differences", differences}, {"unanswered", unanswered},     {"gpus", gpus}};
    }
    void add(const Json& other, unsigned most) {
        programs += other["programs"].get<std::uint64_t>();
        leftOut += other["left out"].get<std::uint64_t>();
        instructions += other["instructions"].get<std::uint64_t>();
        values += other["values"].get<std::uint64_t>();
        differing += other["differing"].get<std::uint64_t>();
        for (const Json& one : other["differences"])
            if (differences.size() < most) differences.push_back(one);
    }
};

constexpr std::uint64_t kValues = kThreads * (kDoubles + kWords + kHalves + kPredicates + 3 * kSlotBytes / 4);

std::string wholeText(const Program& program) {
    return modulePrologue() + textOf(program, "k0");
}

/// Takes one batch after the other to the GPUs, in a process of its own: a driver compiles for one thread of a process
/// at a time, and a GPU that fails takes only one worker down. Says in lines of JSON what it does and what it found.
class Worker {
  public:
    Worker(const Options& options, Clock::time_point end, int pipe) : options_(options), end_(end), pipe_(pipe) {}

    /// Every so many-th batch from this one on.
    void run(std::uint64_t at) {
        for (const std::string& name : options_.gpus) open(name);
        for (; at < options_.programs && !isOver(); at += std::uint64_t{options_.batch} * options_.workers) {
            say({{"at", at}});
            runBatch(options_.first + at, std::min<std::uint64_t>(options_.batch, options_.programs - at));
            say(tally_.json());
            tally_ = {};
        }
        say({{"at", kNoEnd}});
    }

    void say(const Json& json) const {
        const std::string line = jsonText(json) + "\n";
        for (std::size_t done = 0; done < line.size();) {
            const ssize_t written = write(pipe_, line.data() + done, line.size() - done);
            if (written < 0) _exit(1);
            done += static_cast<std::size_t>(written);
        }
    }

  private:
    bool isOver() const { return Clock::now() >= end_; }

    void open(const std::string& name) {
        runners_.push_back(std::make_unique<Runner>(name));
        runners_.back()->tell = [this](const char* doing) { say({{"doing", doing}}); };
        int version = 0;
        runners_.back()->gpu().api().cuDriverGetVersion(&version);
        say({{"gpu", {{"gpu", name}, {"name", runners_.back()->gpu().info().name}, {"driver", version}}}});
    }

    void runBatch(std::uint64_t first, std::uint64_t count) {
        std::vector<Program> programs;
        std::vector<Data> expected;
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t number = first; number < first + count; ++number) {
            Program program = generate(options_.seed, number);
            if (hasRealGpu_ && program.isMisassembled()) continue;
            numbers.push_back(number);
            expected.push_back(evaluate(program));
            tally_.instructions += program.instructions();
            programs.push_back(std::move(program));
        }
        tally_.programs += programs.size();
        tally_.leftOut += count - programs.size();
        if (programs.empty()) return;
        for (const std::unique_ptr<Runner>& runner : runners_) {
            const std::vector<Outcome> outcomes = outcomesOf(*runner, programs);
            tally_.values += programs.size() * kValues;
            for (std::size_t i = 0; i < programs.size(); ++i) {
                const std::string difference = differenceOf(expected[i], outcomes[i]);
                if (!difference.empty()) report(*runner, numbers[i], programs[i], difference);
            }
        }
    }

    std::vector<Outcome> outcomesOf(Runner& runner, std::span<const Program> programs) const {
        if (options_.seconds) alarm(options_.patience);
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
    const bool hasRealGpu_ =
        std::ranges::any_of(options_.gpus, [](const std::string& name) { return name.starts_with("cuda:"); });
    const Clock::time_point end_;
    const int pipe_;
    std::vector<std::unique_ptr<Runner>> runners_;
    Tally tally_;
};

/// A worker as the process that started it sees it.
struct Child {
    pid_t process = -1;
    int pipe = -1;
    std::string text;      ///< of a line that is not complete
    std::uint64_t at = 0;  ///< the batch that it has begun; kNoEnd after its last one
    std::string doing = "began";

    Child(const Options& options, Clock::time_point end, std::uint64_t first) : at(first) {
        int ends[2];
        if (::pipe(ends) != 0) throw Error("cannot make a pipe");
        process = fork();
        if (process < 0) throw Error("cannot make a process");
        if (process == 0) {
            close(ends[0]);
            const auto worker = std::make_unique<Worker>(options, end, ends[1]);
            try {
                worker->run(first);
            } catch (const std::exception& error) {
                worker->say({{"doing", std::string("failed: ") + error.what()}});
            }
            _exit(0);
        }
        close(ends[1]);
        pipe = ends[0];
    }

    /// False when the worker has ended.
    bool listen(Tally& tally, unsigned most) {
        char part[65536];
        const ssize_t got = read(pipe, part, sizeof part);
        if (got <= 0) {
            close(pipe);
            waitpid(process, nullptr, 0);
            return false;
        }
        text.append(part, static_cast<std::size_t>(got));
        for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1))
            hear(Json::parse(text.substr(0, end)), tally, most);
        return true;
    }

  private:
    void hear(const Json& said, Tally& tally, unsigned most) {
        if (said.contains("at")) at = said["at"];
        if (said.contains("doing")) doing = said["doing"];
        if (said.contains("gpu") && std::ranges::find(tally.gpus, said["gpu"]) == tally.gpus.end())
            tally.gpus.push_back(said["gpu"]);
        if (said.contains("programs")) tally.add(said, most);
    }
};

/// Waits until one of them says something or ends; its place in the list.
std::size_t nextToSpeak(const std::vector<Child>& children) {
    std::vector<pollfd> files;
    files.reserve(children.size());
    for (const Child& child : children) files.push_back({child.pipe, POLLIN, 0});
    while (poll(files.data(), files.size(), -1) < 0)
        if (errno != EINTR) throw Error("cannot wait for workers");
    return static_cast<std::size_t>(std::ranges::find_if(files, [](const pollfd& file) { return file.revents != 0; }) -
                                    files.begin());
}

Tally runWorkers(const Options& options) {
    const Clock::time_point end =
        options.seconds ? Clock::now() + std::chrono::seconds(options.seconds) : Clock::time_point::max();
    std::vector<Child> children;
    for (unsigned w = 0; w < options.workers; ++w)
        children.emplace_back(options, end, std::uint64_t{options.batch} * w);
    Tally tally;
    while (!children.empty()) {
        const std::size_t i = nextToSpeak(children);
        if (children[i].listen(tally, options.show)) continue;
        const Child ended = std::move(children[i]);
        children.erase(children.begin() + static_cast<std::ptrdiff_t>(i));
        if (tally.gpus.empty()) throw Error("a worker {}", ended.doing);
        if (ended.at == kNoEnd) continue;
        tally.unanswered.push_back({{"first", options.first + ended.at},
                                    {"programs", std::min<std::uint64_t>(options.batch, options.programs - ended.at)},
                                    {"worker", ended.doing}});
        const std::uint64_t next = ended.at + std::uint64_t{options.batch} * options.workers;
        if (next < options.programs && Clock::now() < end && tally.unanswered.size() < kMostUnanswered)
            children.emplace_back(options, end, next);
    }
    return tally;
}

/// Runs the programs of batches that were not answered again, each by itself, and keeps those that are not answered
/// then either with their batches.
void tryAlone(const Options& options, Json& batches) {
    std::vector<std::pair<Json*, std::uint64_t>> programs;  // with their batches
    for (Json& batch : batches) {
        batch["alone"] = Json::array();
        for (std::uint64_t i = 0; i < batch["programs"]; ++i)
            programs.emplace_back(&batch["alone"], batch["first"].get<std::uint64_t>() + i);
    }
    std::vector<Child> children;
    std::vector<std::size_t> places;  // of their programs
    for (std::size_t next = 0; next < programs.size() || !children.empty();) {
        while (next < programs.size() && children.size() < options.workers) {
            Options one = options;
            one.first = programs[next].second;
            one.programs = one.batch = one.workers = 1;
            children.emplace_back(one, Clock::now() + std::chrono::seconds(options.patience), 0);
            places.push_back(next++);
        }
        const auto i = static_cast<std::ptrdiff_t>(nextToSpeak(children));
        Child& child = children[static_cast<std::size_t>(i)];
        if (Tally tally; child.listen(tally, options.show)) continue;
        const auto& [alone, number] = programs[places[static_cast<std::size_t>(i)]];
        if (child.at != kNoEnd)
            alone->push_back(
                {{"program", number}, {"worker", child.doing}, {"ptx", wholeText(generate(options.seed, number))}});
        children.erase(children.begin() + i);
        places.erase(places.begin() + i);
    }
}

int run(const Options& options) {
    const auto begun = Clock::now();
    Tally tally = runWorkers(options);
    tryAlone(options, tally.unanswered);
    const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
    for (const Json& one : tally.differences)
        fmt::print(stderr, "{}, program {}: {}\nshrunken: {}\n{}\n", one["gpu"].get<std::string>(),
                   one["program"].get<std::uint64_t>(), one["difference"].get<std::string>(),
                   one["shrunken difference"].get<std::string>(), one["shrunken"].get<std::string>());
    for (const Json& one : tally.unanswered)
        fmt::print(stderr,
                   "bulkhead_differential: {} programs from {} on: no answer; the worker {}; alone, {} of them\n",
                   one["programs"].get<std::uint64_t>(), one["first"].get<std::uint64_t>(),
                   one["worker"].get<std::string>(), one["alone"].size());
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
    return tally.differing || !tally.unanswered.empty() ? 1 : 0;
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
    app.add_option("--patience", options.patience,
                   "seconds that a batch may take, with --seconds; its worker is ended then")
        ->check(CLI::Range(1u, 3600u));
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
