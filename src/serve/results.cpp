#include "serve/results.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "experiment/result_folder.h"
#include "report/report.h"

namespace bulkhead::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 2000, kMostEntries = 50'000, kMostRuns = 500;
constexpr Bytes kMostBytes = 64_MiB;  // of a file that is listed
constexpr int kDeepest = 4;

std::string isoTime(fs::file_time_type when) {
    const auto system = std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::file_clock::to_sys(when));
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(system)));
}

/// Null where it holds no results.
nlohmann::ordered_json summaryOf(const fs::path& file, fs::file_time_type changed) {
    try {
        const std::vector<Result> results = report::resultsIn(parseJson(readFile(file, kMostBytes), "file"), "file");
        if (results.empty()) return nullptr;
        const Result& first = results.front();
        return {{"title", first.title},
                {"answer", first.answer},
                {"gpu", first.provenance.gpu},
                {"date", first.provenance.date.empty() ? isoTime(changed) : first.provenance.date},
                {"results", results.size()}};
    } catch (const Error&) {
        return nullptr;
    }
}

/// A name that the system would see less of than we do is none.
bool isWhole(const std::string& name) {
    return !name.empty() && name.find('\0') == std::string::npos;
}

bool isHidden(const fs::path& path) {
    return path.filename().string().starts_with('.');
}

void flatten(const nlohmann::json& value, const std::string& key, const char* part, Result& into) {
    constexpr std::size_t kFew = 16;
    if (value.is_object()) {
        for (const auto& [name, inner] : value.items())
            flatten(inner, key.empty() ? name : key + "." + name, part, into);
        return;
    }
    const bool list = value.is_array() && value.size() > kFew;
    into.add({part, key,
              list                      ? Value(fmt::format("{} values", value.size()))
              : value.is_string()       ? Value(value.get<std::string>())
              : value.is_boolean()      ? Value(value.get<bool>())
              : value.is_number_float() ? Value(value.get<double>())
                                        : Value(jsonText(value))});
}

}  // namespace

nlohmann::ordered_json ResultFiles::list() {
    std::map<std::string, Known> found;
    std::error_code failed;
    fs::recursive_directory_iterator at(folder_, fs::directory_options::skip_permission_denied, failed), end;
    std::size_t seen = 0;
    for (; !failed && at != end && found.size() < kMostFiles && seen < kMostEntries; at.increment(failed), ++seen) {
        std::error_code unknown;
        if (isHidden(at->path()) || at.depth() >= kDeepest) at.disable_recursion_pending();
        if (isHidden(at->path()) || at->path().extension() != ".json" ||
            !fs::is_regular_file(at->symlink_status(unknown)))
            continue;
        const std::string name = at->path().lexically_relative(folder_).string();
        const fs::file_time_type changed = at->last_write_time(unknown);
        const std::uintmax_t bytes = unknown ? 0 : at->file_size(unknown);
        if (unknown) continue;
        const auto before = known_.find(name);
        const bool same = before != known_.end() && before->second.changed == changed && before->second.bytes == bytes;
        found[name] = same ? std::move(before->second) : Known{changed, bytes, summaryOf(at->path(), changed)};
    }
    known_ = std::move(found);
    std::vector<std::pair<fs::file_time_type, nlohmann::ordered_json>> all;
    for (const auto& [name, known] : known_) {
        if (known.summary.is_null()) continue;
        nlohmann::ordered_json one = {{"file", name}};
        one.update(known.summary);
        all.emplace_back(known.changed, std::move(one));
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (auto& [changed, one] : all) list.push_back(std::move(one));
    return list;
}

fs::path ResultFiles::find(const std::string& name) const {
    if (!isWhole(name)) throw Error("{}: is no file of results here", name);
    std::error_code failed;
    const fs::path root = fs::canonical(folder_, failed);
    const fs::path file = failed ? fs::path() : fs::canonical(folder_ / name, failed);
    const bool inside =
        !failed && std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end();
    if (!inside || file.extension() != ".json" || isHidden(file) || !fs::is_regular_file(file, failed))
        throw Error("{}: is no file of results here", name);
    return file;
}

nlohmann::ordered_json KeptRuns::list() const {
    std::vector<std::pair<fs::file_time_type, std::string>> all;
    std::error_code failed;
    if (!folder_.empty())
        for (fs::directory_iterator at(folder_, failed), end; !failed && at != end; at.increment(failed)) {
            std::error_code unknown;
            const fs::file_time_type changed = at->last_write_time(unknown);
            if (!unknown && at->path().extension() == ".json" && at->is_regular_file(unknown))
                all.emplace_back(changed, at->path().filename().string());
        }
    std::sort(all.begin(), all.end(), std::greater<>());
    nlohmann::ordered_json list = {
        {"folder", folder_.string()}, {"count", all.size()}, {"runs", nlohmann::ordered_json::array()}};
    for (const auto& [changed, name] : all) {
        if (list["runs"].size() == kMostRuns) break;
        list["runs"].push_back({{"name", name}, {"date", isoTime(changed)}});
    }
    return list;
}

Result KeptRuns::table(const std::string& name) const {
    std::error_code unknown;
    const fs::path file = folder_ / name;
    if (folder_.empty() || !isWhole(name) || fs::path(name).filename() != name || file.extension() != ".json" ||
        !fs::is_regular_file(fs::symlink_status(file, unknown)))
        throw Error("{}: is no kept run", name);
    experiment::StoredResult stored;
    try {
        stored = experiment::readStored(readFile(file), name);
    } catch (const Error&) {
        throw Error("{}: is damaged", name);
    }
    Result table;
    table.title = "Kept run " + fs::path(name).stem().string();
    table.columns = {{"part", ""}, {"key", ""}, {"value", ""}};
    flatten(stored.run, "", "run", table);
    flatten(stored.measurement, "", "measurement", table);
    table.reading = "Run: everything that determines it. Measurement: what was found.";
    return table;
}

}  // namespace bulkhead::serve
