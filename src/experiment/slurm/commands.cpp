#include "experiment/slurm/commands.h"

#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>

#include "base/shell_words.h"

namespace bulkhead::experiment::slurm {
namespace {

constexpr int kNotFound = 127;  // of a shell
/// Enough to fill a cluster, and few enough for Slurm to manage: more runs than that share tasks.
constexpr std::size_t kMostTasks = 1000;

struct Said {
    int status = 0;
    std::vector<std::string> lines;  ///< of both streams

    std::string words() const { return fmt::format("{}", fmt::join(lines, "; ")); }
};

Said ask(const std::vector<std::string>& command) {
    std::string line;
    for (const std::string& word : command) line += shellQuoted(word) + " ";
    FILE* const answer = popen((line + "2>&1 </dev/null").c_str(), "r");
    if (!answer) throw Error("cannot start {}: {}", command.front(), std::strerror(errno));
    std::string text;
    std::array<char, 4096> some;
    while (const std::size_t n = std::fread(some.data(), 1, some.size(), answer)) text.append(some.data(), n);
    const int status = pclose(answer);
    Said said;
    said.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    std::istringstream lines(text);
    for (std::string one; std::getline(lines, one);)
        if (!one.empty()) said.lines.push_back(one);
    return said;
}

/// In names of files, sbatch replaces what follows a percent sign.
std::string withoutPatterns(const std::string& path) {
    std::string plain;
    for (const char c : path) plain += c == '%' ? "%%" : std::string(1, c);
    return plain;
}

/// The name of an option, without its value: "--array" of --array=1-3, "-a" of -a1-3.
std::string nameOf(const std::string& option) {
    return option.starts_with("--") ? option.substr(0, option.find('=')) : option.substr(0, 2);
}

}  // namespace

void expectCommands() {
    for (const char* command : {"sbatch", "squeue"})
        if (ask({command, "--version"}).status == kNotFound)
            throw Error("--on slurm: there is no {} on this machine: run this where jobs are submitted to Slurm",
                        command);
}

void submit(const Job& job) {
    std::vector<std::string> command = {"sbatch", "--nodes=1", "--ntasks=1"};
    command.insert(command.end(), job.options.begin(), job.options.end());
    std::string array = fmt::format("--array=0-{}", job.tasks - 1);
    if (job.atOnce > 0) array += fmt::format("%{}", job.atOnce);
    command.insert(
        command.end(),
        {"--job-name=" + job.name, array, "--chdir=" + std::filesystem::current_path().string(),
         "--output=" + withoutPatterns(job.logs.string()) + "/task-%a.log", "--open-mode=append", job.script.string()});
    const Said said = ask(command);
    if (said.status == 0) return;
    // One that was heard too late to be answered is there all the same.
    try {
        if (!tasksOf({job.name}).empty()) return;
    } catch (const Error&) {
        // The first answer says what is wrong.
    }
    throw Refused("Slurm refuses the job: {}", said.words());
}

bool Task::ended() const {
    constexpr std::array<std::string_view, 11> kEnds = {"COMPLETED", "FAILED",    "TIMEOUT",       "NODE_FAIL",
                                                        "PREEMPTED", "CANCELLED", "OUT_OF_MEMORY", "BOOT_FAIL",
                                                        "DEADLINE",  "REVOKED",   "SPECIAL_EXIT"};
    return std::find(kEnds.begin(), kEnds.end(), state) != kEnds.end();
}

std::vector<Task> tasksOf(const std::vector<std::string>& names) {
    if (names.empty()) return {};
    const Said said = ask({"squeue", "--noheader", "--array", "--states=all", "--format=%j|%K|%i|%T|%N|%r",
                           fmt::format("--name={}", fmt::join(names, ","))});
    if (said.status != 0) throw Error("Slurm does not answer: {}", said.words());
    std::vector<Task> tasks;
    for (const std::string& line : said.lines) {
        std::istringstream fields(line);
        Task task;
        std::string number;
        for (std::string* field : {&task.job, &number, &task.id, &task.state, &task.node, &task.reason})
            std::getline(fields, *field, '|');
        // Beside what was asked for, a warning may be among the lines.
        if (std::find(names.begin(), names.end(), task.job) == names.end() || number.empty()) continue;
        if (std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; }))
            task.number = static_cast<unsigned>(std::strtoul(number.c_str(), nullptr, 10));
        tasks.push_back(task);
    }
    return tasks;
}

std::size_t mostTasks() {
    const Said said = ask({"scontrol", "show", "config"});
    for (const std::string& line : said.lines) {
        const std::size_t at = line.find('=');
        if (!line.starts_with("MaxArraySize") || at == std::string::npos) continue;
        return std::clamp<std::size_t>(std::strtoul(line.c_str() + at + 1, nullptr, 10), 1, kMostTasks);
    }
    return kMostTasks;
}

void expectOptions(const std::vector<std::string>& options) {
    constexpr std::array<std::string_view, 22> kOurs = {
        "--array", "-a",          "--job-name", "-J",         "--output",   "-o",          "--chdir", "-D",
        "--wrap",  "--wait",      "-W",         "--help",     "-h",         "--test-only", "--usage", "--version",
        "-V",      "--open-mode", "--",         "--parsable", "--clusters", "-M"};
    bool mayBeValue = false;  // of the option before
    for (const std::string& word : options) {
        if (!word.starts_with("-")) {
            if (!mayBeValue) throw Error("--slurm-options: {} is no option of sbatch: options begin with a dash", word);
            mayBeValue = false;
            continue;
        }
        if (std::find(kOurs.begin(), kOurs.end(), nameOf(word)) != kOurs.end())
            throw Error("--slurm-options: {} cannot be chosen: leave it out", nameOf(word));
        mayBeValue = word.find('=') == std::string::npos;
    }
}

bool askForGpu(const std::vector<std::string>& options) {
    return std::any_of(options.begin(), options.end(), [](const std::string& word) {
        return word.starts_with("--gpus") || word.starts_with("-G") || word.starts_with("--exclusive") ||
               word.find("gpu:") != std::string::npos || word.ends_with("=gpu") ||
               word.find("gres/gpu") != std::string::npos;
    });
}

}  // namespace bulkhead::experiment::slurm
