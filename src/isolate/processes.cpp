#include "isolate/processes.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>

#include <cstdio>
#include <fstream>

namespace bulkhead::isolate {

std::optional<Process> findProcess(pid_t id) {
    std::ifstream status(fmt::format("/proc/{}/status", id));
    Process process;
    process.id = id;
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Name:\t")) process.program = line.substr(6);
        unsigned real = 0, effective = 0;
        if (std::sscanf(line.c_str(), "Uid:\t%u\t%u", &real, &effective) != 2) continue;
        process.user = effective;
        return process;
    }
    return std::nullopt;
}

std::optional<pid_t> lockHolder(const struct stat& file) {
    std::ifstream locks("/proc/locks");
    for (std::string line; std::getline(locks, line);) {
        int process = 0;
        unsigned major = 0, minor = 0;
        unsigned long long inode = 0;
        // Those who wait for a lock have an arrow before its kind.
        if (std::sscanf(line.c_str(), "%*[^:]: FLOCK %*s %*s %d %x:%x:%llu", &process, &major, &minor, &inode) == 4 &&
            process > 0 && inode == file.st_ino && ::makedev(major, minor) == file.st_dev)
            return process;
    }
    return std::nullopt;
}

std::string describeProcess(std::optional<pid_t> id) {
    if (!id) return "a process that cannot be seen from here";
    const std::optional<Process> process = findProcess(*id);
    if (!process) return fmt::format("process {}", *id);
    return fmt::format("process {} of user {} ({})", *id, process->user, process->program);
}

}  // namespace bulkhead::isolate
