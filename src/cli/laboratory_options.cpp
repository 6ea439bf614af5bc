#include "cli/laboratory_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/environment.h"
#include "base/files.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "compare/workers.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

/// Where the XDG base directory specification has it.
std::filesystem::path defaultStore() {
    const std::string cache = environment("XDG_CACHE_HOME"), home = environment("HOME");
    const std::filesystem::path base = !cache.empty()  ? std::filesystem::path(cache)
                                       : !home.empty() ? std::filesystem::path(home) / ".cache"
                                                       : std::filesystem::temp_directory_path();
    return base / "bulkhead" / "runs";
}

}  // namespace

std::filesystem::path storeFolder(const LaboratoryOptions& o) {
    return o.store.empty() ? defaultStore() : std::filesystem::path(o.store);
}

/// A build whose simulator differs gives other results, whatever its version says: the program's own bytes tell.
std::string thisProgram() {
    return version() + " " + compare::fingerprint(readFile("/proc/self/exe"));
}

void showProgress(const compare::Progress& p) {
    if (isatty(STDERR_FILENO) == 0) return;
    if (p.done == p.of) {
        fmt::print(stderr, "\r\x1b[K");
    } else {
        fmt::print(stderr, "\r\x1b[K{} of {} runs, {} left ({})", p.done, p.of, clockTime(p.secondsLeft), p.last);
    }
    std::fflush(stderr);
}

void addLaboratoryOptions(CLI::App& app, LaboratoryOptions& o) {
    app.add_option(
           "--store", o.store,
           "folder that keeps runs as they end, so that the same command goes on where it was [the user's cache]")
        ->type_name("FOLDER");
    app.add_option("--jobs", o.jobs, "runs at a time [one a core]");
}

compare::Laboratory openLaboratory(const LaboratoryOptions& o) {
    return {compare::Store(storeFolder(o), compare::simulatorSources()), o.jobs ? o.jobs : compare::processors(),
            showProgress};
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
