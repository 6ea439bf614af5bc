#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/own_descriptor.h"

namespace bulkhead::isolate {

/// A sign that the holder of a lease lives which lies in no folder: a socket with a name of the kernel's abstract
/// namespace, that nobody can remove and that goes with its process. By it a lease is noticed whose file was deleted,
/// or which is kept in another folder. Network namespaces do not see each other's.
struct LeaseMark {
    std::string lease;          ///< "PID-NUMBER", as LeaseBook names it
    pid_t process = 0;          ///< as the name says
    std::optional<uid_t> user;  ///< that made it; nothing where the kernel does not tell
};

/// Puts one up in a place: letters, digits and dashes that stand for what leases of the place are of.
OwnDescriptor putUpMark(const std::string& place, const std::string& lease);

/// All of a place.
std::vector<LeaseMark> findMarks(const std::string& place);

/// Those in the text of /proc/net/unix, for kernels that do not list sockets otherwise.
std::vector<LeaseMark> marksIn(std::string_view table, const std::string& place);

}  // namespace bulkhead::isolate
