#include "report/browser.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

#include "base/files.h"

namespace bulkhead::report {
namespace {

constexpr int kTimeoutMs = 60'000;

std::string decoded(const std::string& base64) {
    static const std::string kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    unsigned bits = 0, held = 0;
    for (const char c : base64) {
        const std::size_t value = kLetters.find(c);
        if (value == std::string::npos) continue;
        bits = bits << 6 | static_cast<unsigned>(value);
        held += 6;
        if (held >= 8) bytes += static_cast<char>(bits >> (held -= 8) & 255);
    }
    return bytes;
}

}  // namespace

std::optional<std::filesystem::path> Browser::find() {
    for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
        if (std::filesystem::exists(path)) return path;
    return std::nullopt;
}

Browser::Browser(const std::filesystem::path& program) {
    int commands[2], answers[2];
    if (::pipe(commands) != 0 || ::pipe(answers) != 0) throw std::runtime_error("no pipes");
    const std::string profile = "--user-data-dir=" + (home_ / "profile").string();
    process_ = ::fork();
    if (process_ == 0) {
        // Chromium reads commands from 3 and writes answers to 4; the ends may have those numbers already.
        const int in = ::fcntl(commands[0], F_DUPFD, 10), out = ::fcntl(answers[1], F_DUPFD, 10);
        ::dup2(in, 3);
        ::dup2(out, 4);
        const int nothing = ::open("/dev/null", O_RDWR);
        ::dup2(nothing, STDOUT_FILENO);
        ::dup2(nothing, STDERR_FILENO);
        ::setenv("HOME", home_.path().c_str(), 1);
        ::execl(program.c_str(), program.c_str(), "--headless=new", "--remote-debugging-pipe", "--no-sandbox",
                "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
                "--disable-background-networking",
                // For scripts that compare pictures beside the page.
                "--allow-file-access-from-files", profile.c_str(), "about:blank", nullptr);
        ::_exit(127);
    }
    ::close(commands[0]);
    ::close(answers[1]);
    toBrowser_ = commands[1];
    fromBrowser_ = answers[0];
    ::signal(SIGPIPE, SIG_IGN);

    const std::string target = send("Target.createTarget", {{"url", "about:blank"}}, "")["targetId"];
    session_ = send("Target.attachToTarget", {{"targetId", target}, {"flatten", true}}, "")["sessionId"];
    for (const char* domain : {"Page", "Runtime", "Log", "Network"}) call(std::string(domain) + ".enable");
}

Browser::~Browser() {
    ::close(toBrowser_);
    ::close(fromBrowser_);
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
}

nlohmann::json Browser::nextMessage() {
    std::size_t end = 0;
    while ((end = buffer_.find('\0')) == std::string::npos) {
        pollfd wanted{fromBrowser_, POLLIN, 0};
        if (::poll(&wanted, 1, kTimeoutMs) <= 0) throw std::runtime_error("the browser says nothing");
        char bytes[65536];
        const ssize_t count = ::read(fromBrowser_, bytes, sizeof bytes);
        if (count <= 0) throw std::runtime_error("the browser ended");
        buffer_.append(bytes, static_cast<std::size_t>(count));
    }
    const nlohmann::json message = nlohmann::json::parse(buffer_.substr(0, end));
    buffer_.erase(0, end + 1);
    return message;
}

void Browser::note(const nlohmann::json& event) {
    const std::string method = event.value("method", "");
    if (method == "Page.loadEventFired") loaded_ = true;
    if (method == "Runtime.exceptionThrown") complaints_.push_back(event["params"]["exceptionDetails"].dump());
    if (method == "Log.entryAdded") complaints_.push_back(event["params"]["entry"].value("text", ""));
    if (method == "Runtime.consoleAPICalled" && event["params"]["type"] != "log")
        complaints_.push_back(event["params"]["args"].dump());
    if (method == "Network.requestWillBeSent") {
        const std::string url = event["params"]["request"]["url"];
        const bool own = url.starts_with("file:") || url.starts_with("about:") || url.starts_with("blob:");
        const bool below = !visited_.empty() && url.starts_with(visited_);
        if (!own && !below) complaints_.push_back("requested " + url);
    }
}

nlohmann::json Browser::send(const std::string& method, const nlohmann::json& parameters, const std::string& session) {
    nlohmann::json command = {{"id", ++lastId_}, {"method", method}, {"params", parameters}};
    if (!session.empty()) command["sessionId"] = session;
    const std::string text = command.dump() + '\0';
    for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t count = ::write(toBrowser_, text.data() + sent, text.size() - sent);
        if (count <= 0) throw std::runtime_error("the browser takes no command");
        sent += static_cast<std::size_t>(count);
    }
    for (;;) {
        nlohmann::json message = nextMessage();
        if (message.value("id", 0) != lastId_) {
            note(message);
            continue;
        }
        if (message.contains("error")) throw std::runtime_error(method + ": " + message["error"].dump());
        return message["result"];
    }
}

nlohmann::json Browser::call(const std::string& method, const nlohmann::json& parameters) {
    return send(method, parameters, session_);
}

void Browser::navigate(const std::string& address) {
    complaints_.clear();
    loaded_ = false;
    call("Page.navigate", {{"url", address}});
    while (!loaded_) note(nextMessage());
}

void Browser::open(const std::filesystem::path& file) {
    visited_.clear();
    std::string url = "file://";
    for (const char c : std::filesystem::absolute(file).string()) c == ' ' ? url += "%20" : url += c;
    navigate(url);
}

void Browser::visit(const std::string& address) {
    visited_ = address.substr(0, address.rfind('/') + 1);
    navigate(address);
}

nlohmann::json Browser::evaluate(const std::string& expression) {
    const nlohmann::json answer =
        call("Runtime.evaluate", {{"expression", expression}, {"returnByValue", true}, {"awaitPromise", true}});
    if (answer.contains("exceptionDetails")) throw std::runtime_error(answer["exceptionDetails"].dump());
    return answer["result"].value("value", nlohmann::json());
}

void Browser::resize(int width, int height, bool phone) {
    call("Emulation.setDeviceMetricsOverride",
         {{"width", width}, {"height", height}, {"deviceScaleFactor", phone ? 2 : 1}, {"mobile", phone}});
}

void Browser::preferColors(const std::string& scheme) {
    call("Emulation.setEmulatedMedia",
         {{"features", nlohmann::json::array({{{"name", "prefers-color-scheme"}, {"value", scheme}}})}});
}

void Browser::press(const std::string& key) {
    for (const char* type : {"keyDown", "keyUp"})
        call("Input.dispatchKeyEvent", {{"type", type}, {"key", key}, {"code", key}});
}

void Browser::keepScreenshot(const std::string& name) {
    const char* const folder = std::getenv("BULKHEAD_SCREENSHOTS");
    if (folder == nullptr) return;
    const std::string data =
        call("Page.captureScreenshot", {{"format", "png"}, {"captureBeyondViewport", true}})["data"];
    writeFile(std::filesystem::path(folder) / (name + ".png"), decoded(data));
}

}  // namespace bulkhead::report
