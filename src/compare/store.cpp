#include "compare/store.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "source_fingerprint.h"

namespace bulkhead::compare {
namespace {

/// Part of a file's name: what is no letter or digit becomes a dash.
std::string plain(std::string text) {
    for (char& c : text)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
    return text;
}

}  // namespace

std::string simulatorSources() {
    return kSourceFingerprint;
}

std::string fingerprint(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{:016x}", hash);
}

Store::Store(std::filesystem::path folder, std::string program)
    : folder_(std::move(folder)), program_(std::move(program)) {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed || !std::filesystem::is_directory(folder_))
        throw Error("{}: cannot be made a folder for results ({})", folder_.string(),
                    failed ? failed.message() : "it is a file");
}

nlohmann::ordered_json Store::identity(const RunSpec& spec) const {
    nlohmann::ordered_json identity = spec.toJson();
    identity["program"] = program_;
    return identity;
}

std::filesystem::path Store::fileOf(const RunSpec& spec) const {
    return folder_ / fmt::format("{}-{}-{}.json", plain(spec.workload), plain(spec.scheduler),
                                 fingerprint(identity(spec).dump()));
}

std::optional<RunFigures> Store::find(const RunSpec& spec) const {
    const std::filesystem::path file = fileOf(spec);
    if (!std::filesystem::exists(file)) return std::nullopt;
    const nlohmann::json json = parseJson(readFile(file), file.string());
    // Two runs with one fingerprint are unlikely, and told apart all the same.
    if (!json.is_object() || !json.contains("run") || json["run"] != nlohmann::json(identity(spec)))
        return std::nullopt;
    return RunFigures::fromJson(json.value("figures", nlohmann::json()), file.string());
}

void Store::keep(const RunSpec& spec, const RunFigures& figures) const {
    const nlohmann::ordered_json json = {{"run", identity(spec)}, {"figures", figures.toJson()}};
    writeFile(fileOf(spec), json.dump() + "\n");
}

}  // namespace bulkhead::compare
