#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>

#include "base/own_descriptor.h"
#include "far_driver/message.h"

namespace bulkhead::far_driver {

/// A socket between a thread of a program and the process that has the GPU: requests and replies in turn.
class Connection {
  public:
    struct Peer {
        pid_t process = 0;
        uid_t user = 0;
    };

    Connection() = default;
    explicit Connection(OwnDescriptor socket) : socket_(std::move(socket)) {}
    /// Empty where nobody listens at that name in a folder. Throws Error.
    static std::optional<Connection> open(const std::filesystem::path& folder, const std::string& name);

    explicit operator bool() const { return static_cast<bool>(socket_); }
    int descriptor() const { return socket_.get(); }
    Peer peer() const;
    /// `head`: what a request asks, or how a call ended. False if the other end is gone.
    bool send(std::uint32_t head, const Message&) const;
    struct Received {
        std::uint32_t head = 0;
        Message message;
    };
    /// Empty if the other end is gone, or sends what nobody would.
    std::optional<Received> receive() const;

  private:
    OwnDescriptor socket_;
};

/// A socket in a folder, at which connections come in.
OwnDescriptor listenAt(const std::filesystem::path& folder, const std::string& name, bool anybody);
/// Empty where none came after all.
std::optional<Connection> acceptAt(const OwnDescriptor&);

}  // namespace bulkhead::far_driver
