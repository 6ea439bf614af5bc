#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace bulkhead {

namespace fs = std::filesystem;

namespace {

std::string why(int error) {
    return std::generic_category().message(error);
}

/// A descriptor that is closed with this object.
struct Descriptor {
    explicit Descriptor(int f) : file(f) {}
    ~Descriptor() {
        if (file >= 0) ::close(file);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int file;
};

/// Where a chain of links ends, whether or not something is there: that is replaced, not the link.
fs::path targetOf(fs::path path) {
    constexpr int kMostLinks = 40;  // as many as the system follows
    std::error_code error;
    for (int i = 0; i < kMostLinks && fs::is_symlink(path, error); ++i)
        path = path.parent_path() / fs::read_symlink(path, error);
    return path;
}

/// An open file beside the one that it is to become; gone with this object unless it has become it.
class Temporary {
  public:
    explicit Temporary(const fs::path& path) : path_(path), target_(targetOf(path)) {
        constexpr int kTries = 100;
        for (int i = 0; i < kTries && file_.file < 0; ++i) {
            name_ = freshName();
            file_.file = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            if (file_.file < 0 && errno != EEXIST) break;
        }
        if (file_.file < 0) fail(errno);
    }
    ~Temporary() {
        if (!name_.empty()) ::unlink(name_.c_str());
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    void write(std::string_view bytes) const {
        while (!bytes.empty()) {
            const ssize_t n = ::write(file_.file, bytes.data(), bytes.size());
            if (n < 0 && errno != EINTR) fail(errno);
            if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
        }
    }

    void become() {
        // Who may read it is the old file's business.
        struct stat old {};
        constexpr mode_t kPermissions = 0777;
        if (::stat(target_.c_str(), &old) == 0 && ::fchmod(file_.file, old.st_mode & kPermissions) != 0) fail(errno);
        // Some file systems have nothing to wait for, and say so.
        if (::fsync(file_.file) != 0 && errno != EINVAL) fail(errno);
        if (::close(std::exchange(file_.file, -1)) != 0) fail(errno);
        if (std::rename(name_.c_str(), target_.c_str()) != 0) fail(errno);
        name_.clear();
        // The name is the folder's; where that cannot be opened, the system writes it in its own time.
        const fs::path folder = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
        const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (opened.file >= 0) ::fsync(opened.file);
    }

  private:
    [[noreturn]] void fail(int code) const { throw Error("{}: cannot be written: {}", path_.string(), why(code)); }

    std::string freshName() const {
        std::uint32_t number = 0;
        if (::getentropy(&number, sizeof number) != 0) fail(errno);
        return fmt::format("{}.{:08x}", target_.string(), number);
    }

    fs::path path_, target_;
    std::string name_;
    Descriptor file_{-1};
};

}  // namespace

std::string readBeginning(const fs::path& path, Bytes most) {
    const auto fail = [&] { throw Error("{}: cannot be read: {}", path.string(), why(errno)); };
    const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (in.file < 0 && (errno == ENOENT || errno == ENOTDIR)) throw Error("{}: no such file", path.string());
    if (in.file < 0) fail();
    struct stat about {};
    if (::fstat(in.file, &about) != 0) fail();
    if (S_ISDIR(about.st_mode)) throw Error("{}: is a directory, not a file", path.string());
    std::string bytes;
    if (S_ISREG(about.st_mode)) bytes.reserve(std::min<Bytes>(most, static_cast<Bytes>(about.st_size)));
    for (char some[65536]; bytes.size() < most;) {
        const ssize_t n = ::read(in.file, some, std::min<Bytes>(sizeof some, most - bytes.size()));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail();
        if (n == 0) break;
        bytes.append(some, static_cast<std::size_t>(n));
    }
    return bytes;
}

std::string readFile(const fs::path& path, Bytes most) {
    std::string bytes = readBeginning(path, most + 1);
    if (bytes.size() > most)
        throw Error("{}: has more than {} MB, the most that is read", path.string(), std::max<Bytes>(1, most >> 20));
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
    Temporary temporary(path);
    temporary.write(bytes);
    temporary.become();
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
}

}  // namespace bulkhead
