#include "experiment/slurm/slurm_executor.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "experiment/interruption.h"
#include "experiment/result_folder.h"
#include "experiment/slurm/commands.h"
#include "experiment/slurm/submission.h"
#include "experiment/slurm/task.h"

namespace bulkhead::experiment::slurm {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLook(500);  ///< at the store
constexpr std::chrono::seconds kAsk(3);          ///< Slurm, which has others to answer
constexpr unsigned kSurelyGone = 2;              ///< times that Slurm said so: a result may come later than that
constexpr std::chrono::hours kLogsStay(24);

/// One at a time decides on what is submitted to a store.
class Lock {
  public:
    explicit Lock(const fs::path& folder) {
        const std::string file = (folder / "lock").string();
        file_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (file_ < 0) file_ = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);  // another user's
        while (file_ >= 0 && ::flock(file_, LOCK_EX | LOCK_NB) != 0) {
            if (errno != EWOULDBLOCK && errno != EINTR) return;  // file systems that have no locks
            throwIfInterrupted();
            std::this_thread::sleep_for(kLook);
        }
    }
    ~Lock() {
        if (file_ >= 0) ::close(file_);
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    int file_ = -1;
};

/// Calls from time to time.
class Rhythm {
  public:
    explicit Rhythm(Clock::duration every) : every_(every) {}
    bool due() {
        if (Clock::now() < next_) return false;
        next_ = Clock::now() + every_;
        return true;
    }

  private:
    Clock::duration every_;
    Clock::time_point next_;
};

void waitALittle() {
    throwIfInterrupted();
    std::this_thread::sleep_for(kLook);
}

std::string lastLine(const fs::path& file) {
    std::ifstream lines(file);
    std::string last;
    for (std::string line; std::getline(lines, line);)
        if (!line.empty()) last = line;
    return last;
}

std::string newId() {
    static unsigned made = 0;
    char host[256] = {};
    gethostname(host, sizeof host - 1);
    return fingerprint(fmt::format("{} {} {} {}", host, getpid(), ++made,
                                   std::chrono::system_clock::now().time_since_epoch().count()));
}

/// A submission whose job we wait for, and what Slurm said of its tasks when it was last asked.
struct Watched {
    Submission submission;
    std::map<unsigned, Task> tasks;
    std::optional<Task> rest;           ///< what holds for all other tasks
    std::map<unsigned, unsigned> gone;  ///< how often a task was not there, or had ended

    const Task* task(unsigned number) const {
        if (const auto found = tasks.find(number); found != tasks.end()) return &found->second;
        return rest ? &*rest : nullptr;
    }
    bool waits(unsigned number) const { return task(number) && task(number)->waits(); }
    bool alive(unsigned number) const { return task(number) && !task(number)->ended(); }
    bool anyAlive() const {
        return (rest && !rest->ended()) ||
               std::any_of(tasks.begin(), tasks.end(), [](const auto& t) { return !t.second.ended(); });
    }
};

/// What Slurm says of them now. Throws Error if it does not answer.
void hear(const std::vector<Watched*>& watched) {
    std::vector<std::string> names;
    names.reserve(watched.size());
    for (const Watched* w : watched) names.push_back(w->submission.jobName());
    const std::vector<Task> tasks = tasksOf(names);
    for (Watched* w : watched) {
        w->tasks.clear();
        w->rest.reset();
        for (const Task& task : tasks) {
            if (task.job != w->submission.jobName()) continue;
            if (task.number) {
                w->tasks[*task.number] = task;
            } else {
                w->rest = task;
            }
        }
        std::set<unsigned> numbers = {0};
        for (const Submission::Run& run : w->submission.runs()) numbers.insert(run.task);
        for (const unsigned number : numbers) w->gone[number] = w->alive(number) ? 0 : w->gone[number] + 1;
    }
}

std::vector<Watched*> pointersTo(const std::vector<std::unique_ptr<Watched>>& watched) {
    std::vector<Watched*> all;
    all.reserve(watched.size());
    for (const std::unique_ptr<Watched>& w : watched) all.push_back(w.get());
    return all;
}

/// One list of runs, until each has ended.
class Sweep {
  public:
    Sweep(const SlurmSettings& settings, const RunList& runs, const ShowProgress& progress)
        : settings_(settings),
          runs_(runs),
          progress_(progress),
          folder_(Submission::folderIn(settings.store)),
          states_(runs.count) {
        for (std::size_t n = 0; n < runs.count; ++n) states_[n].file = runs.describe(n).file;
    }

    void run() {
        std::error_code failed;
        fs::create_directories(folder_, failed);
        if (failed) throw Error("{}: cannot create this folder: {}", folder_.string(), failed.message());
        Rhythm ask(kAsk);
        while (done_ < runs_.count) {
            const bool heard = ask.due() && askSlurm();
            look(heard);
            if (heard) placeOrWait();
            show();
            if (done_ < runs_.count) waitALittle();
        }
    }

  private:
    struct State {
        std::string file;
        bool done = false;
        Watched* in = nullptr;   ///< the submission that has it
        std::size_t number = 0;  ///< there
        unsigned tries = 0;      ///< that came to nothing
        unsigned task() const { return in->submission.runs()[number].task; }
    };

    bool askSlurm() {
        try {
            hear(pointersTo(watched_));
            return true;
        } catch (const Error& error) {
            settings_.notice(fmt::format("{}: waiting for it", error.what()));
            return false;
        }
    }

    // What became of runs.

    void look(bool heard) {
        refresh(settings_.store);
        for (const std::unique_ptr<Watched>& w : watched_) refresh(w->submission.folder());
        std::map<std::string, unsigned> lost;  // how many, by the manner
        for (std::size_t n = 0; n < states_.size(); ++n) {
            State& state = states_[n];
            if (state.done || !state.in || state.in->waits(state.task())) continue;
            if (runs_.recall(n)) {
                end(state);
            } else if (const auto why = state.in->submission.failure(state.number)) {
                finish(n, *why);
            } else if (heard && state.in->gone[state.task()] >= kSurelyGone) {
                lose(n, lost);
            }
        }
        for (const auto& [how, count] : lost)
            settings_.notice(fmt::format("Slurm: {} {} lost ({}), to be tried again", count,
                                         count == 1 ? "run was" : "runs were", how));
    }

    void lose(std::size_t n, std::map<std::string, unsigned>& lost) {
        State& state = states_[n];
        const Submission& submission = state.in->submission;
        const Task* const task = state.in->task(state.task());
        const std::string how = task ? fmt::format("{} on {}", task->state, task->node.empty() ? "no node" : task->node)
                                     : "its task has ended";
        if (task && task->state == "CANCELLED") return finish(n, "its task was cancelled");
        // One whose turn had not come when its task was lost has had no chance yet.
        const unsigned begun = submission.begun(state.number);
        if (begun > 0 || !submission.anyBegun(state.task())) state.tries += std::max(begun, 1u);
        if (state.tries >= kMostTries) return finish(n, fmt::format("lost {} times, {}", state.tries, how));
        state.in = nullptr;
        ++lost[how];
    }

    void finish(std::size_t n, const std::string& why) {
        State& state = states_[n];
        runs_.finish(n, {"", fmt::format("{} (log: {})", why, state.in->submission.log(state.task()).string()), 0});
        end(state);
    }

    void end(State& state) {
        state.done = true;
        ++done_;
    }

    // Who does them.

    std::vector<std::size_t> unplaced() const {
        std::vector<std::size_t> found;
        for (std::size_t n = 0; n < states_.size(); ++n)
            if (!states_[n].done && !states_[n].in) found.push_back(n);
        return found;
    }

    /// Once jobs are under way, a Slurm that does not answer is waited for.
    void placeOrWait() {
        try {
            place();
        } catch (const Refused&) {
            throw;
        } catch (const Error& error) {
            if (watched_.empty()) throw;
            settings_.notice(fmt::format("{}: waiting for it", error.what()));
        }
    }

    void place() {
        if (unplaced().empty()) return;
        {
            const Lock lock(folder_);
            attach();
            recallRest();
            if (unplaced().empty()) return;
            if (nodesSeeTheStore()) return submitRest();
        }
        greet();
        place();
    }

    /// Goes on with jobs of others, or of an earlier process, that have runs of ours.
    void attach() {
        std::map<std::string, std::size_t> wanted;
        for (const std::size_t n : unplaced()) wanted[states_[n].file] = n;
        std::vector<std::unique_ptr<Watched>> others = strangers();
        hear(pointersTo(others));
        for (std::unique_ptr<Watched>& w : others) {
            if (!w->anyAlive()) {
                removeIfOld(w->submission);
                continue;
            }
            std::size_t found = 0;
            for (std::size_t i = 0; i < w->submission.runs().size(); ++i) {
                const Submission::Run& run = w->submission.runs()[i];
                const auto at = wanted.find(run.description.file);
                if (at == wanted.end() || (!w->alive(run.task) && !w->submission.failure(i))) continue;
                states_[at->second].in = w.get();
                states_[at->second].number = i;
                wanted.erase(at);
                ++found;
            }
            if (found == 0) continue;
            settings_.notice(fmt::format("Slurm: goes on with {} of {} runs, which job {} has", found, runs_.count,
                                         w->submission.jobName()));
            watched_.push_back(std::move(w));
        }
    }

    /// Tasks of others that ended by the time that Slurm was asked have left their results.
    void recallRest() {
        refresh(settings_.store);
        for (const std::size_t n : unplaced())
            if (runs_.recall(n)) end(states_[n]);
    }

    /// Submissions in this store that are not watched.
    std::vector<std::unique_ptr<Watched>> strangers() const {
        std::set<fs::path> known;
        for (const std::unique_ptr<Watched>& w : watched_) known.insert(w->submission.folder());
        std::vector<std::unique_ptr<Watched>> found;
        std::error_code unknown;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder_, unknown)) {
            if (known.contains(entry.path()) || !fs::exists(entry.path() / "runs.json", unknown)) continue;
            try {
                found.push_back(std::make_unique<Watched>(Watched{Submission(entry.path()), {}, {}, {}}));
            } catch (const Error&) {
                // Removed meanwhile, or damaged: then it is nobody's.
            }
        }
        return found;
    }

    /// Logs of what has ended stay for a while, those of others with them.
    static void removeIfOld(const Submission& submission) {
        struct stat about = {};
        if (::stat(submission.folder().c_str(), &about) != 0 || about.st_uid != ::geteuid()) return;
        if (std::chrono::system_clock::now() - std::chrono::system_clock::from_time_t(about.st_mtime) > kLogsStay)
            submission.remove();
    }

    void submitRest() {
        const std::vector<std::size_t> rest = unplaced();
        if (most_ == 0) most_ = mostTasks();
        for (std::size_t tasks = std::min(rest.size(), most_);; tasks /= 2) {
            // Where all do not fit into tasks of their own, they share them; where fewer tasks are accepted, some wait.
            const std::size_t each = (rest.size() + most_ - 1) / most_;
            try {
                submit({rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(std::min(rest.size(), tasks * each))},
                       tasks);
                return;
            } catch (const Refused&) {
                const bool underWay = std::any_of(states_.begin(), states_.end(),
                                                  [](const State& state) { return !state.done && state.in; });
                if (underWay) return;  // limits leave room later
                if (tasks <= 1) throw;
            }
        }
    }

    void submit(const std::vector<std::size_t>& chosen, std::size_t tasks) {
        std::vector<Submission::Run> list;
        list.reserve(chosen.size());
        for (const std::size_t n : chosen)
            list.push_back({runs_.describe(n), static_cast<unsigned>(list.size() % tasks)});
        auto made = std::make_unique<Watched>(
            Watched{Submission::make(settings_.store, newId(), std::move(list), settings_.command), {}, {}, {}});
        submit(made->submission, tasks);
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            states_[chosen[i]].in = made.get();
            states_[chosen[i]].number = i;
        }
        settings_.notice(
            fmt::format("Slurm: {} of {} runs submitted in {} tasks, job {}; Ctrl-C leaves them running, the "
                        "same command goes on with them",
                        chosen.size(), runs_.count, tasks, made->submission.jobName()));
        for (unsigned task = 0; task < tasks; ++task) made->tasks[task] = waiting();
        watched_.push_back(std::move(made));
    }

    void submit(const Submission& submission, std::size_t tasks) const {
        try {
            slurm::submit({submission.jobName(), tasks, settings_.atOnce, submission.script(), submission.folder(),
                           settings_.options});
        } catch (const Error&) {
            submission.remove();
            throw;
        }
    }

    static Task waiting() {
        Task task;
        task.state = "PENDING";
        return task;
    }

    // Whether a node sees the store and runs this program: a first task tells, before any run is submitted.

    std::string greetingId() const {
        return "greeting-" + fingerprint(fmt::format("{} {} {}", settings_.program, settings_.command,
                                                     fmt::join(settings_.options, " ")));
    }
    fs::path seen() const { return folder_ / (greetingId() + ".seen"); }
    bool nodesSeeTheStore() const { return fs::exists(seen()); }

    void greet() {
        Watched w = startGreeting();
        Rhythm ask(kAsk);
        while (true) {
            refresh(w.submission.folder());
            if (const auto program = w.submission.greeting()) {
                if (*program == settings_.program) writeFile(seen(), "");
                w.submission.remove();
                if (*program != settings_.program)
                    throw Error("bulkhead on the nodes is another build, {}, than this, {}: have {} run the same",
                                *program, settings_.program, settings_.command);
                return;
            }
            if (nodesSeeTheStore()) return;  // as another process has found out meanwhile
            if (ask.due()) hear({&w});
            if (w.gone[0] >= kSurelyGone) break;
            if (progress_) progress_({done_, runs_.count, {}, "a first task looks for the store" + reasonOf(w)});
            waitALittle();
        }
        const Task* const task = w.task(0);
        const std::string node = task && !task->node.empty() ? task->node : "its node";
        const std::string said = lastLine(w.submission.log(0));
        const bool logged = fs::exists(w.submission.log(0));
        w.submission.remove();
        if (!logged)
            throw Error(
                "{}: {} cannot write to this store: choose a folder that all nodes see under this name (--store)",
                settings_.store.string(), node);
        throw Error("{} cannot run {}: {}; --slurm-program names what runs bulkhead there", node, settings_.command,
                    said);
    }

    Watched startGreeting() {
        const Lock lock(folder_);
        const fs::path folder = folder_ / greetingId();
        if (fs::exists(folder / "runs.json")) {
            Watched there{Submission(folder), {}, {}, {}};
            hear({&there});
            if (there.alive(0) || there.submission.greeting()) return there;
            there.submission.remove();
        }
        Watched made{Submission::make(settings_.store, greetingId(), {}, settings_.command), {}, {}, {}};
        submit(made.submission, 1);
        return made;
    }

    static std::string reasonOf(const Watched& w) {
        const Task* const task = w.task(0);
        return task && task->waits() && task->reason != "None" ? fmt::format(", waits: {}", task->reason) : "";
    }

    void show() const {
        if (!progress_) return;
        std::size_t running = 0, waits = 0;
        for (const std::unique_ptr<Watched>& w : watched_)
            for (const auto& [number, task] : w->tasks) {
                if (task.waits()) ++waits;
                if (!task.waits() && !task.ended()) ++running;
            }
        progress_({done_, runs_.count, estimate_.secondsLeft(done_, runs_.count),
                   fmt::format("{} tasks running, {} waiting", running, waits)});
    }

    const SlurmSettings& settings_;
    const RunList& runs_;
    const ShowProgress& progress_;
    fs::path folder_;
    std::vector<State> states_;
    std::vector<std::unique_ptr<Watched>> watched_;
    std::size_t done_ = 0, most_ = 0;
    Estimate estimate_;
};

}  // namespace

SlurmExecutor::SlurmExecutor(SlurmSettings settings, ShowProgress progress)
    : settings_(std::move(settings)), progress_(std::move(progress)) {
    expectOptions(settings_.options);
    expectCommands();
}

void SlurmExecutor::execute(const RunList& runs) {
    if (runs.oneAtATime && !askForGpu(settings_.options))
        throw Error(
            "--on slurm: a run on a real GPU needs one for itself: ask for it, as in --slurm-options --gres=gpu:1");
    Sweep(settings_, runs, progress_).run();
}

}  // namespace bulkhead::experiment::slurm
