#include "cli/import_configuration.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/schema.h"
#include "cli/verbs.h"
#include "gpgpusim/profile_import.h"

namespace bulkhead::cli {
namespace {

namespace fs = std::filesystem;

/// As a profile cites it: the folder tells one gpgpusim.config from another, the rest is of this machine alone.
std::string citation(const fs::path& file) {
    const std::string folder = fs::absolute(file).lexically_normal().parent_path().filename().string();
    return printable(folder.empty() ? file.filename().string() : folder + "/" + file.filename().string());
}

/// Accel-Sim's trace.config lies beside gpgpusim.config.
std::vector<std::string> withTraceConfiguration(std::vector<std::string> files) {
    const fs::path beside = fs::path(files.front()).parent_path() / "trace.config";
    std::error_code ignored;
    if (files.size() == 1 && fs::path(files.front()).filename() != "trace.config" &&
        fs::is_regular_file(beside, ignored))
        files.push_back(beside.string());
    return files;
}

std::string profileName(const ImportRequest& request) {
    if (request.out != "-") return fs::path(request.out).stem().string();
    const std::string folder = fs::absolute(request.files.front()).lexically_normal().parent_path().filename().string();
    return printable(folder.empty() ? "imported" : folder);
}

void readNetwork(const std::string& name, const fs::path& configuration, gpgpusim::ImportOptions& options,
                 std::string& told) {
    if (name.empty()) return;
    const fs::path file = configuration.parent_path() / name;
    std::error_code ignored;
    if (!fs::is_regular_file(file, ignored)) {
        told += fmt::format("{} is not beside it. ", name);
        return;
    }
    options.flits = gpgpusim::flitSize(readFile(file), citation(file));
}

std::string listOf(const char* what, const std::vector<std::string>& options) {
    return options.empty() ? std::string() : fmt::format("{}: {}. ", what, fmt::join(options, " "));
}

}  // namespace

int importConfiguration(const ImportRequest& request) {
    expectOutputs({request.out});
    gpgpusim::Configuration configuration;
    const std::vector<std::string> files = withTraceConfiguration(request.files);
    for (const std::string& file : files) configuration.read(readFile(file), citation(file));
    gpgpusim::ImportOptions options;
    options.name = profileName(request);
    options.base = request.base;
    std::string told;
    readNetwork(gpgpusim::networkFile(configuration), files.front(), options, told);
    gpgpusim::Imported imported = gpgpusim::importProfile(configuration, options);
    arch::applySettings(imported.profile, request.settings);

    nlohmann::ordered_json json = schemas::kProfile.begin();
    json.update(imported.profile.toJson());
    writeJson(request.out, json);
    for (const std::string& remark : imported.remarks) told += remark + ". ";
    told += listOf("Without a counterpart", imported.ignored) + listOf("Unknown", imported.unknown);
    fmt::print(stderr, "read {}; what they lack is as {}. {}\n", fmt::join(configuration.files(), " and "),
               imported.base, printable(told));
    return kDone;
}

}  // namespace bulkhead::cli
