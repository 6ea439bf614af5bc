#include "experiment/mps_control.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <thread>

#include "base/error.h"
#include "experiment/child_process.h"

namespace bulkhead::experiment {
namespace {

constexpr double kAnswerSeconds = 5;

/// What the daemon prints for a request, word by word. None where it has not taken the request.
std::optional<std::vector<std::string>> tryToAsk(const std::string& request) {
    ChildProcess control({"nvidia-cuda-mps-control"}, {}, ChildProcess::Says::answers);
    std::vector<std::string> words;
    try {
        control.writeLine(request);
        control.closeInput();
        while (true) {
            std::istringstream line(control.readLine(kAnswerSeconds));
            for (std::string word; line >> word;) words.push_back(word);
        }
    } catch (const Error&) {
        if (control.wait(kAnswerSeconds) != 0) return std::nullopt;
    }
    return words;
}

/// It takes one request at a time, and whoever asks meanwhile is told that the command cannot be sent.
std::vector<std::string> ask(const std::string& request) {
    constexpr int kTries = 10;
    constexpr std::chrono::milliseconds kPause(30);
    for (int left = kTries; left > 0; --left) {
        if (auto words = tryToAsk(request)) return *words;
        if (left > 1) std::this_thread::sleep_for(kPause);
    }
    throw Error("the MPS daemon does not answer");
}

}  // namespace

MpsServer askMpsServer() {
    MpsServer server;
    const std::vector<std::string> servers = ask("get_server_list");
    if (servers.empty()) return server;
    server.process = servers.front();
    const std::vector<std::string> status = ask("get_server_status " + server.process);
    if (!status.empty()) server.status = status.back();
    server.clients = ask("get_client_list " + server.process);
    return server;
}

void terminateMpsClient(const MpsServer& server, pid_t client) {
    const std::string name = std::to_string(client);
    if (std::find(server.clients.begin(), server.clients.end(), name) == server.clients.end()) return;
    ask("terminate_client " + server.process + " " + name);
}

void replaceMpsServer(const MpsServer& server) {
    ask("shutdown_server " + server.process + " -f");
}

}  // namespace bulkhead::experiment
