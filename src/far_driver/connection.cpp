#include "far_driver/connection.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "base/units.h"

namespace bulkhead::far_driver {
namespace {

constexpr Bytes kMostBytes = 64_GiB;  ///< of a message: more than a copy has

struct Head {
    std::uint32_t what = 0, unused = 0;
    std::uint64_t bytes = 0;
};

/// A name of a socket is short, while folders may be deep: it is asked for below the open folder.
template <class Body>
auto atName(const std::filesystem::path& folder, const std::string& name, Body&& body) {
    const OwnDescriptor open([&] { return ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); });
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string text = fmt::format("/proc/self/fd/{}/{}", open.get(), name);
    if (text.size() >= sizeof address.sun_path) throw Error("{}: too long a name for a socket", name);
    std::memcpy(address.sun_path, text.c_str(), text.size() + 1);
    return body(reinterpret_cast<const sockaddr*>(&address), socklen_t{sizeof address});
}

OwnDescriptor makeSocket() {
    OwnDescriptor made([] { return ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); });
    if (!made) throw Error("cannot make a socket ({})", std::strerror(errno));
    return made;
}

bool receiveAll(int socket, void* to, std::size_t bytes) {
    auto* next = static_cast<std::uint8_t*>(to);
    while (bytes > 0) {
        const ssize_t got = ::recv(socket, next, bytes, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        next += got;
        bytes -= static_cast<std::size_t>(got);
    }
    return true;
}

bool sendAll(int socket, const void* from, std::size_t bytes, int flags) {
    const auto* next = static_cast<const std::uint8_t*>(from);
    while (bytes > 0) {
        const ssize_t sent = ::send(socket, next, bytes, MSG_NOSIGNAL | flags);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        next += sent;
        bytes -= static_cast<std::size_t>(sent);
    }
    return true;
}

}  // namespace

std::optional<Connection> Connection::open(const std::filesystem::path& folder, const std::string& name) {
    OwnDescriptor socket = makeSocket();
    const int failed = atName(folder, name, [&](const sockaddr* address, socklen_t bytes) {
        return ::connect(socket.get(), address, bytes) == 0 ? 0 : errno;
    });
    if (failed == 0) return Connection(std::move(socket));
    if (failed == ENOENT || failed == ECONNREFUSED || failed == ENOTDIR) return std::nullopt;
    throw Error("{}: cannot be asked ({})", (folder / name).string(), std::strerror(failed));
}

Connection::Peer Connection::peer() const {
    ucred known = {};
    socklen_t bytes = sizeof known;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &known, &bytes) != 0)
        throw Error("cannot tell who asks ({})", std::strerror(errno));
    return {known.pid, known.uid};
}

bool Connection::send(std::uint32_t head, const Message& message) const {
    const Head first = {head, 0, message.bytes().size()};
    const int more = first.bytes > 0 ? MSG_MORE : 0;
    return sendAll(socket_.get(), &first, sizeof first, more) &&
           sendAll(socket_.get(), message.bytes().data(), first.bytes, 0);
}

std::optional<Connection::Received> Connection::receive() const {
    Head head;
    if (!receiveAll(socket_.get(), &head, sizeof head) || head.bytes > kMostBytes) return std::nullopt;
    Received received;
    received.head = head.what;
    // Bit by bit: who says that much follows may not mean it.
    constexpr Bytes kPiece = 16_MiB;
    auto& bytes = received.message.bytes();
    while (bytes.size() < head.bytes) {
        const std::size_t had = bytes.size();
        bytes.resize(std::min(head.bytes, had + kPiece));
        if (!receiveAll(socket_.get(), bytes.data() + had, bytes.size() - had)) return std::nullopt;
    }
    return received;
}

OwnDescriptor listenAt(const std::filesystem::path& folder, const std::string& name, bool anybody) {
    OwnDescriptor socket = makeSocket();
    ::unlink((folder / name).c_str());  // what a killed listener left there
    const mode_t before = ::umask(anybody ? 0 : 077);
    const bool bound = atName(folder, name, [&](const sockaddr* address, socklen_t bytes) {
        return ::bind(socket.get(), address, bytes) == 0;
    });
    ::umask(before);
    if (!bound || ::listen(socket.get(), SOMAXCONN) != 0)
        throw Error("{}: cannot listen there ({})", (folder / name).string(), std::strerror(errno));
    return socket;
}

std::optional<Connection> acceptAt(const OwnDescriptor& listener) {
    OwnDescriptor socket([&] { return ::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC); });
    if (!socket) return std::nullopt;
    return Connection(std::move(socket));
}

}  // namespace bulkhead::far_driver
