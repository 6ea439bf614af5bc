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

}  // namespace

std::string readFile(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (!fs::exists(status)) throw Error("{}: no such file", path.string());
    if (fs::is_directory(status)) throw Error("{}: is a directory, not a file", path.string());
    std::ifstream in(path, std::ios::binary);
    if (!in) throw Error("{}: cannot be read: {}", path.string(), why(errno));
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
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
    // Through a link, the file it points to is replaced, not the link.
    const fs::path target = fs::is_symlink(path, error) ? fs::canonical(path, error) : path;
    std::string temporary = target.string() + ".XXXXXX";
    const int file = ::mkstemp(temporary.data());
    if (file < 0) throw Error("{}: cannot be written: {}", path.string(), why(errno));
    const auto fail = [&](int code) {
        ::unlink(temporary.c_str());
        throw Error("{}: cannot be written: {}", path.string(), why(code));
    };
    const mode_t mask = ::umask(0);
    ::umask(mask);
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = ::write(file, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno != EINTR) {
            const int code = errno;
            ::close(file);
            fail(code);
        }
        if (n > 0) done += static_cast<std::size_t>(n);
    }
    const bool permitted = ::fchmod(file, 0666 & ~mask) == 0;
    if (::close(file) != 0 || !permitted) fail(errno);
    if (std::rename(temporary.c_str(), target.c_str()) != 0) fail(errno);
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
    // A file is replaced by another of its directory; a device or a pipe is written itself.
    const bool replaced = !fs::exists(status) || fs::is_regular_file(status);
    const std::string place = replaced ? fs::absolute(file).parent_path().string() : file;
    if (::access(place.c_str(), W_OK) != 0)
        throw Error("{}: cannot be written: {}", file, why(errno));
}

}  // namespace bulkhead
