#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/own_descriptor.h"

namespace bulkhead::isolate {

/// One end of a conversation between processes of this machine: messages of JSON, with open files.
class Channel {
  public:
    struct Message {
        nlohmann::json body;
        std::vector<OwnDescriptor> files;
    };
    /// As the kernel knows the other end.
    struct Peer {
        pid_t process = 0;
        uid_t user = 0;
    };
    static constexpr std::size_t kMostFiles = 128;  ///< of a message

    explicit Channel(OwnDescriptor socket) : socket_(std::move(socket)) {}

    /// Empty where nobody listens at that name in a folder.
    static std::optional<Channel> connect(const std::filesystem::path& folder, const std::string& name);

    int descriptor() const { return socket_.get(); }
    Peer peer() const;
    /// Whether the other end is gone.
    bool ended() const;
    /// Throws Error where the other end is gone, or does not listen.
    void send(const nlohmann::json&, std::span<const int> files = {}) const;
    /// Empty if the other end is gone. Throws Error: no message in that time, or none that can be read.
    std::optional<Message> receive(std::chrono::milliseconds patience) const;

  private:
    OwnDescriptor socket_;
};

/// Where others begin a conversation: a socket with a name in a folder.
class Listener {
  public:
    /// Throws Error. `anybody`: may be asked by users other than this one.
    Listener(const std::filesystem::path& folder, const std::string& name, bool anybody);
    ~Listener();
    Listener(const Listener&) = delete;
    Listener& operator=(const Listener&) = delete;

    int descriptor() const { return socket_.get(); }
    std::optional<Channel> accept() const;

  private:
    std::filesystem::path file_;
    OwnDescriptor socket_;
};

}  // namespace bulkhead::isolate
