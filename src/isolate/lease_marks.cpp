#include "isolate/lease_marks.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

std::string prefixOf(const std::string& place) {
    return fmt::format("bulkhead/{}/", place);
}

/// Nothing for names that LeaseBook does not give.
std::optional<LeaseMark> markFrom(std::string_view name, const std::string& prefix, std::optional<uid_t> user) {
    if (!name.starts_with(prefix)) return std::nullopt;
    name.remove_prefix(prefix.size());
    LeaseMark mark{std::string(name), 0, user};
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), mark.process);
    if (error != std::errc() || mark.process <= 0 || end == name.data() + name.size() || *end != '-')
        return std::nullopt;
    return mark;
}

class Netlink {
  public:
    Netlink() : socket_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) {}
    ~Netlink() {
        if (socket_ >= 0) ::close(socket_);
    }
    Netlink(const Netlink&) = delete;
    Netlink& operator=(const Netlink&) = delete;

    bool askForUnixSockets() const {
        struct {
            nlmsghdr header = {};
            unix_diag_req body = {};
        } request;
        request.header.nlmsg_len = sizeof request;
        request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
        request.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        request.body.sdiag_family = AF_UNIX;
        request.body.udiag_states = ~0u;
        request.body.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_UID;
        return socket_ >= 0 && ::send(socket_, &request, sizeof request, 0) == static_cast<ssize_t>(sizeof request);
    }
    /// Some messages; none at an error.
    std::vector<char> receive() const {
        std::vector<char> bytes(1 << 16);
        ssize_t got = -1;
        while ((got = ::recv(socket_, bytes.data(), bytes.size(), 0)) < 0 && errno == EINTR) {
        }
        bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
        return bytes;
    }

  private:
    int socket_;
};

std::optional<LeaseMark> markFrom(const nlmsghdr* message, const std::string& prefix) {
    const auto* const body = static_cast<const unix_diag_msg*>(NLMSG_DATA(message));
    auto left = static_cast<int>(message->nlmsg_len - NLMSG_LENGTH(sizeof *body));
    std::string_view name;
    std::optional<uid_t> user;
    for (const auto* a = reinterpret_cast<const rtattr*>(body + 1); RTA_OK(a, left); a = RTA_NEXT(a, left)) {
        const auto* const data = static_cast<const char*>(RTA_DATA(a));
        if (a->rta_type == UNIX_DIAG_NAME) name = {data, RTA_PAYLOAD(a)};
        if (a->rta_type == UNIX_DIAG_UID && RTA_PAYLOAD(a) >= sizeof(uid_t)) {
            user.emplace();
            std::memcpy(&*user, data, sizeof(uid_t));
        }
    }
    // Abstract names begin with a zero.
    if (name.empty() || name.front() != '\0') return std::nullopt;
    return markFrom(name.substr(1), prefix, user);
}

/// Nothing where the kernel has no sock_diag(7) for these sockets.
std::optional<std::vector<LeaseMark>> askKernel(const std::string& prefix) {
    const Netlink netlink;
    if (!netlink.askForUnixSockets()) return std::nullopt;
    std::vector<LeaseMark> marks;
    while (true) {
        const std::vector<char> bytes = netlink.receive();
        auto left = static_cast<unsigned>(bytes.size());
        if (left == 0) return std::nullopt;
        for (const auto* m = reinterpret_cast<const nlmsghdr*>(bytes.data()); NLMSG_OK(m, left);
             m = NLMSG_NEXT(m, left)) {
            if (m->nlmsg_type == NLMSG_DONE) return marks;
            if (m->nlmsg_type == NLMSG_ERROR) return std::nullopt;
            if (auto mark = markFrom(m, prefix)) marks.push_back(std::move(*mark));
        }
    }
}

}  // namespace

OwnDescriptor putUpMark(const std::string& place, const std::string& lease) {
    const std::string name = prefixOf(place) + lease;
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    if (name.size() > sizeof address.sun_path - 1) throw Error("{}: too long a name for a mark", name);
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    OwnDescriptor mark([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    if (!mark || ::bind(mark.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0)
        throw Error("a lease cannot be marked by a socket ({})", std::strerror(errno));
    return mark;
}

std::vector<LeaseMark> marksIn(std::string_view table, const std::string& place) {
    const std::string prefix = prefixOf(place);
    std::vector<LeaseMark> marks;
    std::istringstream lines{std::string(table)};
    for (std::string line; std::getline(lines, line);) {
        const std::size_t at = line.find(" @");
        if (at == std::string::npos) continue;
        if (auto mark = markFrom(std::string_view(line).substr(at + 2), prefix, std::nullopt))
            marks.push_back(std::move(*mark));
    }
    return marks;
}

std::vector<LeaseMark> findMarks(const std::string& place) {
    if (auto marks = askKernel(prefixOf(place))) return std::move(*marks);
    std::ifstream file("/proc/net/unix");
    std::ostringstream table;
    if (!(table << file.rdbuf())) throw Error("/proc/net/unix cannot be read: leases of others cannot be told");
    return marksIn(table.str(), place);
}

}  // namespace bulkhead::isolate
