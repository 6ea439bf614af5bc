#include "compare/store.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
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

std::string nameOf(const RunSpec& spec) {
    return spec.workload + "-" + spec.scheduler;
}

ResultFolder::ResultFolder(std::filesystem::path folder, std::string program)
    : folder_(std::move(folder)), program_(std::move(program)) {
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed || !std::filesystem::is_directory(folder_))
        throw Error("{}: cannot be made a folder for results ({})", folder_.string(),
                    failed ? failed.message() : "it is a file");
}

nlohmann::ordered_json ResultFolder::identity(nlohmann::ordered_json spec) const {
    spec["program"] = program_;
    return spec;
}

std::filesystem::path ResultFolder::fileOf(const std::string& name, const nlohmann::ordered_json& spec) const {
    return folder_ / fmt::format("{}-{}.json", plain(name), fingerprint(identity(spec).dump()));
}

std::optional<nlohmann::json> ResultFolder::find(const std::string& name, const nlohmann::ordered_json& spec) const {
    const std::filesystem::path file = fileOf(name, spec);
    if (!std::filesystem::exists(file)) return std::nullopt;
    const nlohmann::json json = parseJson(readFile(file), file.string());
    // Two runs with one fingerprint are unlikely, and told apart all the same.
    if (!json.is_object() || !json.contains("run") || json["run"] != nlohmann::json(identity(spec)))
        return std::nullopt;
    return json.value("figures", nlohmann::json());
}

void ResultFolder::keep(const std::string& name, const nlohmann::ordered_json& spec,
                        const nlohmann::ordered_json& figures) const {
    const nlohmann::ordered_json json = {{"run", identity(spec)}, {"figures", figures}};
    writeFile(fileOf(name, spec), json.dump() + "\n");
}

}  // namespace bulkhead::compare
