#include "experiment/slurm/submission.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/shell_words.h"

namespace bulkhead::experiment::slurm {
namespace {

std::optional<std::string> textOf(const std::filesystem::path& file) {
    std::error_code unknown;
    if (!std::filesystem::exists(file, unknown)) return std::nullopt;
    return readFile(file);
}

}  // namespace

Submission Submission::make(const std::filesystem::path& store, const std::string& id, std::vector<Run> runs,
                            const std::string& command) {
    Submission made;
    made.folder_ = folderIn(store) / id;
    made.runs_ = std::move(runs);
    std::error_code failed;
    std::filesystem::create_directories(made.folder_, failed);
    if (failed) throw Error("{}: cannot create this folder: {}", made.folder_.string(), failed.message());
    writeFile(made.script(), fmt::format("#!/bin/sh\nexec {} slurm-task {} \"$SLURM_ARRAY_TASK_ID\"\n", command,
                                         shellQuoted(made.folder_.string())));
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const Run& run : made.runs_)
        list.push_back({{"task", run.task},
                        {"kind", run.description.kind},
                        {"file", run.description.file},
                        {"spec", run.description.spec}});
    writeFile(made.folder_ / "runs.json", jsonText(nlohmann::ordered_json{{"runs", list}}));
    return made;
}

Submission::Submission(std::filesystem::path folder) : folder_(std::move(folder)) {
    const std::string where = (folder_ / "runs.json").string();
    const nlohmann::json content = readJson(where);
    JsonObject whole(content, where);
    for (const nlohmann::json& one : whole.at("runs")) {
        JsonObject run(one, where);
        runs_.push_back(
            {{run.get<std::string>("kind"), run.get<std::string>("file"), run.at("spec")}, run.get<unsigned>("task")});
    }
}

std::filesystem::path Submission::log(unsigned task) const {
    return folder_ / fmt::format("task-{}.log", task);
}

std::filesystem::path Submission::mark(std::size_t run, const char* kind) const {
    return folder_ / fmt::format("run-{}.{}", run, kind);
}

void Submission::begin(std::size_t run) const {
    const std::filesystem::path file = mark(run, "begun");
    std::ofstream lines(file, std::ios::app);
    lines << environment("SLURMD_NODENAME") << '\n' << std::flush;
    if (!lines) throw Error("{}: cannot be written: {}", file.string(), std::strerror(errno));
}

unsigned Submission::begun(std::size_t run) const {
    const std::string lines = textOf(mark(run, "begun")).value_or("");
    return static_cast<unsigned>(std::count(lines.begin(), lines.end(), '\n'));
}

bool Submission::anyBegun(unsigned task) const {
    for (std::size_t n = 0; n < runs_.size(); ++n)
        if (runs_[n].task == task && begun(n) > 0) return true;
    return false;
}

void Submission::fail(std::size_t run, const std::string& why) const {
    writeFile(mark(run, "failed"), why);
}

std::optional<std::string> Submission::failure(std::size_t run) const {
    return textOf(mark(run, "failed"));
}

void Submission::greet(const std::string& program) const {
    writeFile(folder_ / "greeting", program);
}

std::optional<std::string> Submission::greeting() const {
    return textOf(folder_ / "greeting");
}

void Submission::remove() const {
    std::error_code unknown;
    std::filesystem::remove_all(folder_, unknown);
}

void refresh(const std::filesystem::path& folder) {
    // A network file system asks its server when a directory is opened.
    if (const int opened = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); opened >= 0) ::close(opened);
}

}  // namespace bulkhead::experiment::slurm
