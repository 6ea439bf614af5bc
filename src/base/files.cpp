#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"

namespace bulkhead {

namespace fs = std::filesystem;

namespace {

std::string why(int error) {
    return std::generic_category().message(error);
}

/// An open file beside the one that it is to become.
struct Temporary {
    explicit Temporary(const fs::path& path) {
        // Through a link, the file it points to is replaced, not the link.
        std::error_code error;
        target = fs::is_symlink(path, error) ? fs::canonical(path, error) : path;
        name = target.string() + ".XXXXXX";
        file = ::mkstemp(name.data());
        if (file < 0) throw Error("{}: cannot be written: {}", path.string(), why(errno));
    }
    fs::path target;
    std::string name;
    int file;
};

}  // namespace

std::string readFile(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw Error("{}: no such file", path.string());
    if (fs::is_directory(status)) throw Error("{}: is a directory, not a file", path.string());
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error("{}: cannot be read: {}", path.string(), why(errno));
    std::string bytes;
    for (char some[65536]; in.read(some, sizeof some), in.gcount() > 0;)
        bytes.append(some, static_cast<std::size_t>(in.gcount()));
    if (in.bad()) throw Error("{}: cannot be read: {}", path.string(), why(errno));
    return bytes;
}

void writeFile(const fs::path& path, std::string_view bytes) {
    std::error_code error;
    if (fs::is_directory(path, error)) throw Error("{}: is a directory, not a file", path.string());
    // A device or a pipe (/dev/stdout) cannot be renamed over.
    if (const auto status = fs::status(path, error); fs::exists(status) && !fs::is_regular_file(status)) {
        std::ofstream out(path, std::ios::binary);
        out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        if (!out.flush()) throw Error("{}: cannot be written: {}", path.string(), why(errno));
        return;
    }
    const Temporary temporary(path);
    const auto fail = [&](int code) {
        ::unlink(temporary.name.c_str());
        throw Error("{}: cannot be written: {}", path.string(), why(code));
    };
    const mode_t mask = ::umask(0);
    ::umask(mask);
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = ::write(temporary.file, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno != EINTR) {
            const int code = errno;
            ::close(temporary.file);
            fail(code);
        }
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    const bool permitted = ::fchmod(temporary.file, 0666 & ~mask) == 0;
    if (::close(temporary.file) != 0 || !permitted) fail(errno);
    if (std::rename(temporary.name.c_str(), temporary.target.c_str()) != 0) fail(errno);
}

nlohmann::json parseJson(std::string_view text, const std::string& where) {
    try {
        return nlohmann::json::parse(text);
    } catch (const nlohmann::json::parse_error& e) {
        // The library's own message quotes the input, which may be anything.
        const std::size_t at = std::min(text.size(), e.byte == 0 ? 0 : e.byte - 1);
        const std::string_view before = text.substr(0, at);
        const auto line = std::count(before.begin(), before.end(), '\n') + 1;
        const std::size_t lineStart = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
        throw Error("{}: not JSON: {} at line {}, column {}", where,
                    at >= text.size() ? "ends too early" : "unexpected text", line, at - lineStart + 1);
    }
}

void expectWritable(const std::string& file) {
    std::error_code error;
    const fs::file_status status = fs::status(file, error);
    if (fs::is_directory(status)) throw Error("{}: is a directory, not a file", file);
    // A device or a pipe is written itself.
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        if (::access(file.c_str(), W_OK) != 0) throw Error("{}: cannot be written: {}", file, why(errno));
        return;
    }
    // Permissions do not tell everything, such as file systems that take no files: only a trial does.
    const Temporary trial(file);
    ::close(trial.file);
    ::unlink(trial.name.c_str());
}

}  // namespace bulkhead
