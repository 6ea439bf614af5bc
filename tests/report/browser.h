#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "temporary_directory.h"

namespace bulkhead::report {

/// A headless Chromium that is driven over a pair of pipes with the DevTools protocol.
class Browser {
  public:
    /// Where Chromium is, if it is installed.
    static std::optional<std::filesystem::path> find();

    explicit Browser(const std::filesystem::path& program);
    ~Browser();
    Browser(const Browser&) = delete;
    Browser& operator=(const Browser&) = delete;

    /// Sends a command to the page and returns its result. Throws std::runtime_error on an error or after a minute.
    nlohmann::json call(const std::string& method, const nlohmann::json& parameters = nlohmann::json::object());

    /// Opens a file and waits until it is loaded.
    void open(const std::filesystem::path&);
    /// Opens an address of a server, and waits likewise. What is requested below it has not left the page.
    void visit(const std::string& address);
    /// What an expression of the page gives; a promise is waited for.
    nlohmann::json evaluate(const std::string& expression);
    /// Width and height in CSS pixels.
    void resize(int width, int height, bool phone = false);
    /// "light" or "dark".
    void preferColors(const std::string& scheme);
    /// Presses and lets go of a key, such as "ArrowRight".
    void press(const std::string& key);

    /// A PNG of the whole page into the folder $BULKHEAD_SCREENSHOTS, if that is set: for people to look at.
    void keepScreenshot(const std::string& name);

    /// Errors and warnings of the console, exceptions, and requests that left the page, since it was opened.
    const std::vector<std::string>& complaints() const { return complaints_; }

  private:
    nlohmann::json send(const std::string& method, const nlohmann::json& parameters, const std::string& session);
    nlohmann::json nextMessage();
    void note(const nlohmann::json& event);
    void navigate(const std::string& address);

    TemporaryDirectory home_;
    pid_t process_ = -1;
    int toBrowser_ = -1, fromBrowser_ = -1;
    int lastId_ = 0;
    std::string session_, buffer_, visited_;
    std::vector<std::string> complaints_;
    bool loaded_ = false;
};

}  // namespace bulkhead::report
