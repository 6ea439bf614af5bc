#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace bulkhead::serve {

struct Answer {
    int status = 0;  ///< 0: none came
    std::string head, body;
    nlohmann::json json() const { return nlohmann::json::parse(body); }
};

/// bulkhead serve FOLDER, as a user starts it.
class RunningServer {
  public:
    RunningServer(const std::filesystem::path& folder, const std::filesystem::path& store);
    ~RunningServer();
    RunningServer(const RunningServer&) = delete;
    RunningServer& operator=(const RunningServer&) = delete;

    const std::string& address() const { return address_; }  ///< with the token
    const std::string& token() const { return token_; }
    std::uint16_t port() const { return port_; }
    pid_t process() const { return process_; }

    /// Behind the token.
    Answer get(const std::string& path) const;
    Answer post(const std::string& path, const nlohmann::json& body) const;
    /// Any bytes, and what comes back until the connection ends.
    Answer send(const std::string& bytes) const;
    /// A request with these headers beside the one that ends the connection; an empty host: none.
    Answer request(const std::string& method, const std::string& target, const std::string& host,
                   const std::string& headers = "", const std::string& body = "") const;

    nlohmann::json state() const { return get("state").json(); }
    nlohmann::json job(unsigned id) const;
    /// Asks, and returns its number.
    unsigned ask(const std::string& question, const nlohmann::json& values) const;
    /// The job once it is in that state. Throws std::runtime_error where that takes a minute.
    nlohmann::json waitFor(unsigned id, const std::string& state) const;
    /// Processes that it started and that still run.
    std::vector<pid_t> children() const;

    /// Sends a signal and waits; the exit status, -1 for a signal.
    int end(int signal);

  private:
    std::string address_, token_;
    std::uint16_t port_ = 0;
    pid_t process_ = -1;
};

}  // namespace bulkhead::serve
