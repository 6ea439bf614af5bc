#include "cli/batch_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "base/shell_words.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "experiment/local_executor.h"
#include "experiment/process_pool.h"
#include "experiment/slurm/slurm_executor.h"
#include "sim/host_threads.h"

namespace bulkhead::cli {
namespace {

/// A folder that the environment names; nothing where it is relative, as the XDG base directory specification has it.
std::filesystem::path folderIn(const char* variable) {
    const std::filesystem::path folder = environment(variable);
    return folder.is_absolute() ? folder : std::filesystem::path();
}

/// Where the XDG base directory specification has it. Without such a folder nothing is kept: one that anybody could
/// have made, as in /tmp, is not to be trusted.
std::filesystem::path defaultStore() {
    const std::filesystem::path cache = folderIn("XDG_CACHE_HOME"), home = folderIn("HOME");
    if (cache.empty() && home.empty()) {
        warnOnce("no run is kept for later: neither XDG_CACHE_HOME nor HOME names a folder");
        return {};
    }
    const std::filesystem::path store = (cache.empty() ? home / ".cache" : cache) / "bulkhead" / "runs";
    std::error_code failed;
    std::filesystem::create_directories(store, failed);
    if (!failed) return store;
    warnOnce(fmt::format("{}: {}: no run is kept for later", store.string(), failed.message()));
    return {};
}

}  // namespace

void warnOnce(const std::string& line) {
    static std::set<std::string> said;
    if (!said.insert(line).second) return;
    const char* const clear = isatty(STDERR_FILENO) != 0 ? "\r\x1b[K" : "";
    fmt::print(stderr, "{}bulkhead: {}\n", clear, line);
}

std::filesystem::path storeFolder(const BatchOptions& o) {
    return o.store.empty() ? defaultStore() : std::filesystem::path(o.store);
}

/// A build whose simulator differs gives other results, whatever its version says: the program's own bytes tell.
std::string thisProgram() {
    return version() + " " + experiment::fingerprint(readFile("/proc/self/exe", 4_GiB));
}

void showProgress(const experiment::Progress& p) {
    if (streamsProgress())
        return streamProgress(static_cast<double>(p.done) / static_cast<double>(p.of),
                              fmt::format("{} of {} runs{}", p.done, p.of, p.last.empty() ? "" : " (" + p.last + ")"),
                              p.secondsLeft);
    static EveryMinute minute;
    const bool terminal = isatty(STDERR_FILENO) != 0;
    if (!terminal && (p.done == p.of || !minute.due())) return;
    if (p.done == p.of) {
        fmt::print(stderr, "\r\x1b[K");
    } else {
        const std::string left = p.secondsLeft ? fmt::format(", {} left", clockTime(*p.secondsLeft)) : "";
        const std::string line = fmt::format("{} of {} runs{} ({})", p.done, p.of, left, p.last);
        fmt::print(stderr, "{}{}{}", terminal ? "\r\x1b[K" : "", line, terminal ? "" : "\n");
    }
    std::fflush(stderr);
}

void addBatchOptions(CommandLine line, BatchOptions& o) {
    line.option("--store", o.store, "keep finished runs in FOLDER; a repeated command resumes [the user's cache]")
        .typeName("FOLDER");
    line.option("--jobs", o.jobs, "parallel runs [one per core]").check(positive());
}

void addClusterOptions(CommandLine line, BatchOptions& o) {
    line.option("--on", o.on, "where runs are done: local, or slurm (job arrays; --store on a folder that nodes see)")
        .typeName("PLACE")
        .showDefault()
        .check([](const std::string& place) {
            return place == "local" || place == "slurm" ? ""
                                                        : fmt::format("unknown place {}: choose local or slurm", place);
        });
    line.option("--slurm-options", o.slurmOptions, "options for sbatch, such as '--partition=long --time=2:00:00'")
        .typeName("OPTIONS");
    line.option("--slurm-program", o.slurmProgram, "command that runs bulkhead on a node [this program's path]")
        .typeName("COMMAND");
}

bool onSlurm(const BatchOptions& o) {
    if (o.on != "slurm" && !o.slurmOptions.empty()) throw Error("--slurm-options needs --on slurm");
    if (o.on != "slurm" && !o.slurmProgram.empty()) throw Error("--slurm-program needs --on slurm");
    return o.on == "slurm";
}

std::shared_ptr<experiment::Executor> executorOf(const BatchOptions& o) {
    if (!onSlurm(o)) {
        const unsigned jobs = o.jobs ? o.jobs : experiment::processors();
        sim::shareHostThreads(jobs);
        return std::make_shared<experiment::LocalExecutor>(jobs, showProgress);
    }
    const std::filesystem::path store = storeFolder(o);
    if (store.empty()) throw Error("--on slurm needs --store, a folder that all nodes see");
    experiment::slurm::SlurmSettings settings;
    settings.store = std::filesystem::absolute(store).lexically_normal();
    settings.program = thisProgram();
    settings.command =
        o.slurmProgram.empty() ? shellQuoted(std::filesystem::read_symlink("/proc/self/exe").string()) : o.slurmProgram;
    settings.options = shellWords(o.slurmOptions, "--slurm-options");
    settings.atOnce = o.jobs;
    settings.notice = warnOnce;
    return std::make_shared<experiment::slurm::SlurmExecutor>(std::move(settings), showProgress);
}

compare::RunBatch openBatch(const BatchOptions& o) {
    return {compare::Store(storeFolder(o), compare::simulatorSources(), warnOnce), executorOf(o)};
}

void fillProvenance(Result& result, const std::string& gpu, std::uint64_t seed) {
    result.provenance = {commandLine(), gpu, static_cast<std::int64_t>(seed), version(), currentDate()};
}

}  // namespace bulkhead::cli
