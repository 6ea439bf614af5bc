#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>

namespace bulkhead::isolate {

/// A process, as the kernel tells of it.
struct Process {
    pid_t id = 0;
    uid_t user = 0;
    std::string program;
};

/// Nothing where no such process can be seen from here.
std::optional<Process> findProcess(pid_t);

/// Who locked a file (flock). Nothing where the kernel does not tell, as of other PID namespaces.
std::optional<pid_t> lockHolder(const struct stat& file);

/// "process 12 of user 1000 (name)", as far as it is known.
std::string describeProcess(std::optional<pid_t>);

}  // namespace bulkhead::isolate
