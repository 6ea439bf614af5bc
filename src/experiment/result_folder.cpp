#include "experiment/result_folder.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"

namespace bulkhead::experiment {
namespace {

/// Part of a file's name: what is no letter or digit becomes a dash.
std::string plain(std::string text) {
    for (char& c : text)
        if (!std::isalnum(static_cast<unsigned char>(c))) c = '-';
    return text;
}

/// A pipe or a device would be waited for, and is not replaced.
bool isOther(const std::filesystem::path& file) {
    std::error_code unknown;
    const std::filesystem::file_status status = std::filesystem::status(file, unknown);
    return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status);
}

// A file begins with a number that stands for every byte behind it: {"checksum":"...", and the rest of the object.
constexpr std::string_view kBeforeSum = R"({"checksum":")", kAfterSum = R"(",)";

std::string sealed(const nlohmann::ordered_json& content) {
    const std::string rest = jsonText(content).substr(1) + "\n";
    return fmt::format("{}{}{}{}", kBeforeSum, fingerprint(rest), kAfterSum, rest);
}

/// The text of what was sealed. Throws Error if a byte differs.
std::string unsealed(std::string_view text) {
    const std::size_t sum = fingerprint("").size(), head = kBeforeSum.size() + sum + kAfterSum.size();
    const std::string_view rest = text.substr(std::min(head, text.size()));
    if (text.substr(0, head) != fmt::format("{}{}{}", kBeforeSum, fingerprint(rest), kAfterSum))
        throw Error("not what was written");
    return "{" + std::string(rest);
}

}  // namespace

StoredResult readStored(std::string_view text, const std::string& where) {
    const nlohmann::json content = parseJson(unsealed(text), where);
    JsonObject stored(content, where);
    return {stored.at("run"), stored.at("measurement")};
}

std::string fingerprint(std::string_view bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return fmt::format("{:016x}", hash);
}

ResultFolder::ResultFolder(std::filesystem::path folder, std::string program, Warn warn)
    : folder_(std::move(folder)), program_(std::move(program)), warn_(std::move(warn)) {
    if (folder_.empty()) return;
    std::error_code failed;
    std::filesystem::create_directories(folder_, failed);
    if (failed || !std::filesystem::is_directory(folder_, failed))
        throw Error("{}: cannot create this folder for results ({})", folder_.string(),
                    failed ? failed.message() : "it is a file");
}

nlohmann::ordered_json ResultFolder::identity(nlohmann::ordered_json spec) const {
    spec["program"] = program_;
    return spec;
}

std::filesystem::path ResultFolder::fileOf(const std::string& name, const nlohmann::ordered_json& spec) const {
    return folder_ / fmt::format("{}-{}.json", plain(name), fingerprint(jsonText(identity(spec))));
}

std::optional<nlohmann::json> ResultFolder::find(const std::string& name, const nlohmann::ordered_json& spec) const {
    const std::filesystem::path file = fileOf(name, spec);
    std::error_code unknown;
    if (folder_.empty() || !std::filesystem::exists(file, unknown)) return std::nullopt;
    if (isOther(file)) {
        warn(fmt::format("{}: is not a file: the run is repeated each time", file.string()));
        return std::nullopt;
    }
    std::string text;
    try {
        text = readFile(file);
    } catch (const Error& error) {
        warn(fmt::format("{}: the run is repeated", error.what()));
        return std::nullopt;
    }
    try {
        const StoredResult stored = readStored(text, file.string());
        // Two runs with one fingerprint are unlikely, and told apart all the same.
        if (stored.run != parseJson(jsonText(identity(spec)), "run")) return std::nullopt;
        return stored.measurement;
    } catch (const Error&) {
        warnOfDamage(file);
        return std::nullopt;
    }
}

void ResultFolder::keep(const std::string& name, const nlohmann::ordered_json& spec,
                        const nlohmann::ordered_json& measurement) const {
    const std::filesystem::path file = fileOf(name, spec);
    if (folder_.empty() || isOther(file)) return;
    try {
        writeFile(file, sealed({{"run", identity(spec)}, {"measurement", measurement}}));
    } catch (const Error& error) {
        const std::string_view why = error.what();
        const std::size_t reason = why.rfind(": ");
        warn(fmt::format("{}: cannot keep runs here{}", folder_.string(),
                         reason == std::string_view::npos ? "" : why.substr(reason)));
    }
}

void ResultFolder::warnOfDamage(const std::filesystem::path& file) const {
    warn(fmt::format("{}: is damaged: the run is repeated", file.string()));
}

void ResultFolder::warn(const std::string& line) const {
    if (warn_) warn_(line);
}

}  // namespace bulkhead::experiment
