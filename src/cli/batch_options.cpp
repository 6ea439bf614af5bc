#include "cli/batch_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "base/environment.h"
#include "base/files.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "experiment/process_pool.h"
#include "report/report.h"

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
        warnOnce("neither XDG_CACHE_HOME nor HOME names a folder, so no run is kept for later");
        return {};
    }
    const std::filesystem::path store = (cache.empty() ? home / ".cache" : cache) / "bulkhead" / "runs";
    std::error_code failed;
    std::filesystem::create_directories(store, failed);
    if (!failed) return store;
    warnOnce(fmt::format("{}: {}, so no run is kept for later", store.string(), failed.message()));
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
    if (isatty(STDERR_FILENO) == 0) return;
    if (p.done == p.of) {
        fmt::print(stderr, "\r\x1b[K");
    } else {
        fmt::print(stderr, "\r\x1b[K{} of {} runs, {} left ({})", p.done, p.of, clockTime(p.secondsLeft), p.last);
    }
    std::fflush(stderr);
}

void addBatchOptions(CLI::App& app, BatchOptions& o) {
    app.add_option(
           "--store", o.store,
           "folder that keeps runs as they end, so that the same command goes on where it was [the user's cache]")
        ->type_name("FOLDER");
    app.add_option("--jobs", o.jobs, "runs at a time [one a core]")->check(positive());
}

compare::RunBatch openBatch(const BatchOptions& o) {
    return {compare::Store(storeFolder(o), compare::simulatorSources(), warnOnce),
            o.jobs ? o.jobs : experiment::processors(), showProgress};
}

void fillProvenance(Result& result, const std::string& gpu, std::uint64_t seed) {
    result.provenance = {commandLine(), gpu, static_cast<std::int64_t>(seed), version(), currentDate()};
}

nlohmann::ordered_json resultsJson(const std::vector<Result>& results) {
    nlohmann::ordered_json json = {{"results", nlohmann::ordered_json::array()}};
    for (const Result& result : results) json["results"].push_back(report::json(result));
    return json;
}

}  // namespace bulkhead::cli
