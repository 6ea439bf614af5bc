#include "serve/running_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <thread>

namespace bulkhead::serve {
namespace {

std::string firstLine(int file) {
    std::string line;
    for (char c = 0; ::read(file, &c, 1) == 1 && c != '\n';) line += c;
    return line;
}

}  // namespace

RunningServer::RunningServer(const std::filesystem::path& folder, const std::filesystem::path& store) {
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    process_ = ::fork();
    if (process_ == 0) {
        ::dup2(out[1], STDOUT_FILENO);
        ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
        const char* const other = std::getenv("BULKHEAD_SERVER");  // of a build with sanitizers
        const char* const program = other != nullptr ? other : BULKHEAD_PROGRAM;
        ::execl(program, program, "serve", folder.c_str(), "--store", store.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(out[1]);
    const std::string line = firstLine(out[0]);
    ::close(out[0]);
    std::smatch parts;
    if (!std::regex_search(line, parts, std::regex("(http://127\\.0\\.0\\.1:([0-9]+)/([0-9a-f]{32})/)$")))
        throw std::runtime_error("no address: " + line);
    address_ = parts[1];
    port_ = static_cast<std::uint16_t>(std::stoi(parts[2]));
    token_ = parts[3];
}

RunningServer::~RunningServer() {
    if (process_ > 0) end(SIGKILL);
}

int RunningServer::end(int signal) {
    ::kill(process_, signal);
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Answer RunningServer::send(const std::string& bytes) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0)
        throw std::runtime_error("nobody listens");
    for (std::size_t sent = 0; sent < bytes.size();) {
        const ssize_t n = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
    }
    std::string heard;
    char some[65536];
    for (ssize_t n = 0; (n = ::recv(socket, some, sizeof some, 0)) > 0;)
        heard.append(some, static_cast<std::size_t>(n));
    ::close(socket);
    Answer answer;
    const std::size_t end = heard.find("\r\n\r\n");
    if (end == std::string::npos) return answer;
    answer.head = heard.substr(0, end);
    answer.body = heard.substr(end + 4);
    answer.status = std::stoi(answer.head.substr(9, 3));
    return answer;
}

Answer RunningServer::request(const std::string& method, const std::string& target, const std::string& host,
                              const std::string& headers, const std::string& body) const {
    return send(fmt::format("{} {} HTTP/1.1\r\n{}Connection: close\r\n{}Content-Length: {}\r\n\r\n{}", method, target,
                            host.empty() ? "" : "Host: " + host + "\r\n", headers, body.size(), body));
}

Answer RunningServer::get(const std::string& path) const {
    return request("GET", fmt::format("/{}/{}", token_, path), fmt::format("127.0.0.1:{}", port_));
}

Answer RunningServer::post(const std::string& path, const nlohmann::json& body) const {
    return request("POST", fmt::format("/{}/{}", token_, path), fmt::format("localhost:{}", port_),
                   "Content-Type: application/json\r\n", body.dump());
}

nlohmann::json RunningServer::job(unsigned id) const {
    const nlohmann::json now = state();
    for (const nlohmann::json& job : now["jobs"])
        if (job["id"] == id) return job;
    return nullptr;
}

unsigned RunningServer::ask(const std::string& question, const nlohmann::json& values) const {
    const Answer answer = post("ask", {{"question", question}, {"values", values}});
    if (answer.status != 201) throw std::runtime_error(answer.body);
    return answer.json()["id"];
}

nlohmann::json RunningServer::waitFor(unsigned id, const std::string& wanted) const {
    for (int i = 0; i < 800; ++i) {
        nlohmann::json now = job(id);
        if (now["state"] == wanted) return now;
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    throw std::runtime_error("it is still not " + wanted + ": " + job(id).dump());
}

std::vector<pid_t> RunningServer::children() const {
    std::vector<pid_t> all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        const std::string name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        std::ifstream file(entry.path() / "stat");
        std::string stat;
        std::getline(file, stat);
        // "12 (name) S 7 ...": the fourth is the parent, and the name may hold anything.
        const std::size_t behind = stat.rfind(") ");
        if (behind != std::string::npos && stat[behind + 2] != 'Z' && std::stoi(stat.substr(behind + 4)) == process_)
            all.push_back(std::stoi(name));
    }
    return all;
}

}  // namespace bulkhead::serve
