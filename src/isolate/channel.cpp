#include "isolate/channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

constexpr std::size_t kMostBytes = 1 << 18;

/// A name of a socket is short, while folders may be deep: it is asked for below the open folder.
class Name {
  public:
    Name(const std::filesystem::path& folder, const std::string& name)
        : folder_([&] { return ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC); }) {
        address_.sun_family = AF_UNIX;
        const std::string text = fmt::format("/proc/self/fd/{}/{}", folder_.get(), name);
        if (text.size() >= sizeof address_.sun_path) throw Error("{}: too long a name for a socket", name);
        std::memcpy(address_.sun_path, text.c_str(), text.size() + 1);
    }
    const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
    static constexpr socklen_t kBytes = sizeof(sockaddr_un);

  private:
    OwnDescriptor folder_;
    sockaddr_un address_ = {};
};

OwnDescriptor makeSocket() {
    OwnDescriptor made([] {
        const int socket = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        const int bytes = static_cast<int>(2 * kMostBytes);
        if (socket >= 0) ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
        return socket;
    });
    if (!made) throw Error("cannot make a socket ({})", std::strerror(errno));
    return made;
}

}  // namespace

std::optional<Channel> Channel::connect(const std::filesystem::path& folder, const std::string& name) {
    OwnDescriptor socket = makeSocket();
    const Name to(folder, name);
    if (::connect(socket.get(), to.address(), Name::kBytes) == 0) return Channel(std::move(socket));
    if (errno == ENOENT || errno == ECONNREFUSED || errno == ENOTDIR) return std::nullopt;
    throw Error("{}: cannot be asked ({})", (folder / name).string(), std::strerror(errno));
}

Channel::Peer Channel::peer() const {
    ucred known = {};
    socklen_t bytes = sizeof known;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &known, &bytes) != 0)
        throw Error("cannot tell who asks ({})", std::strerror(errno));
    return {known.pid, known.uid};
}

bool Channel::ended() const {
    char byte = 0;
    const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

void Channel::send(const nlohmann::json& body, std::span<const int> files) const {
    const std::string text = body.dump();
    if (text.size() > kMostBytes || files.size() > kMostFiles) throw Error("too large a message");
    iovec part = {const_cast<char*>(text.data()), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostFiles * sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (!files.empty()) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(files.size_bytes());
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(files.size_bytes());
        std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
    }
    ssize_t sent = -1;
    while ((sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
    }
    if (sent < 0) throw Error("the other process does not listen any more ({})", std::strerror(errno));
}

std::optional<Channel::Message> Channel::receive(std::chrono::milliseconds patience) const {
    pollfd ready = {socket_.get(), POLLIN, 0};
    int found = 0;
    while ((found = ::poll(&ready, 1, static_cast<int>(patience.count()))) < 0 && errno == EINTR) {
    }
    if (found <= 0) throw Error("no answer within {} ms", patience.count());
    std::string text(kMostBytes, '\0');
    iovec part = {text.data(), text.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(kMostFiles * sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t got = -1;
    while ((got = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
    }
    if (got <= 0) return std::nullopt;
    Message read;
    for (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, const_cast<cmsghdr*>(header))) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {
            int file = -1;
            std::memcpy(&file, CMSG_DATA(header) + i * sizeof(int), sizeof file);
            read.files.emplace_back([&] { return file; });
        }
    }
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) throw Error("a message that is too large");
    read.body = nlohmann::json::parse(text.begin(), text.begin() + got, nullptr, false);
    if (!read.body.is_object()) throw Error("a message that cannot be read");
    return read;
}

Listener::Listener(const std::filesystem::path& folder, const std::string& name, bool anybody)
    : file_(folder / name), socket_(makeSocket()) {
    // What a killed listener left there.
    ::unlink(file_.c_str());
    const Name at(folder, name);
    const mode_t before = ::umask(anybody ? 0 : 077);
    const bool bound = ::bind(socket_.get(), at.address(), Name::kBytes) == 0;
    ::umask(before);
    if (!bound || ::listen(socket_.get(), SOMAXCONN) != 0)
        throw Error("{}: cannot listen there ({})", file_.string(), std::strerror(errno));
}

Listener::~Listener() {
    ::unlink(file_.c_str());
}

std::optional<Channel> Listener::accept() const {
    OwnDescriptor socket([&] { return ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC); });
    if (!socket) return std::nullopt;
    // Who asks and does not listen keeps nobody waiting for long.
    const timeval limit = {1, 0};
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return Channel(std::move(socket));
}

}  // namespace bulkhead::isolate
