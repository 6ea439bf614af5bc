#include "isolate/lease_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace bulkhead::isolate {
namespace {

namespace fs = std::filesystem;

const char* kindOf(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFLNK:
            return "a link";
        case S_IFIFO:
            return "a pipe";
        case S_IFSOCK:
            return "a socket";
        case S_IFDIR:
            return "a folder";
        case S_IFREG:
            return "a file";
        default:
            return "a device";
    }
}

std::string hint(int code) {
    if (code != EACCES) return "";
    return ": root prepares one for several users by install -d -m 1777 FOLDER";
}

bool othersWrite(const struct stat& status) {
    return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool same(const struct stat& a, const struct stat& b) {
    return a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

/// The folder itself, not one that a link leads to: a slash at the end would follow it.
fs::path plainPath(const fs::path& folder) {
    fs::path normal = folder.lexically_normal();
    return normal.has_filename() || !normal.has_relative_path() ? normal : normal.parent_path();
}

struct Folder {
    OwnDescriptor descriptor;
    struct stat status = {};
};

/// Nothing where there is none. `where`: the name for messages.
std::optional<Folder> openFolder(int below, const std::string& name, const std::string& where) {
    Folder folder{OwnDescriptor([&] {
                      return ::openat(below, name.c_str(),
                                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
                  }),
                  {}};
    if (!folder.descriptor) {
        const int code = errno;
        if (code == ENOENT) return std::nullopt;
        struct stat status = {};
        if (::fstatat(below, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(status.st_mode))
            throw Error("{}: is {}, not a folder of leases", where, kindOf(status.st_mode));
        throw Error("{}: cannot be opened as a folder of leases ({}){}", where, std::strerror(code), hint(code));
    }
    if (::fstat(folder.descriptor.get(), &folder.status) != 0)
        throw Error("{}: cannot be read ({})", where, std::strerror(errno));
    return folder;
}

void expectTrusted(const struct stat& status, const std::string& where) {
    if (status.st_uid != 0 && status.st_uid != ::geteuid())
        throw Error("{}: belongs to user {}: a folder of leases is one's own, or root's", where, status.st_uid);
    if (othersWrite(status) && (status.st_mode & S_ISVTX) == 0)
        throw Error(
            "{}: others may replace what is in it: make it yours alone (chmod 700) or, as root, sticky (chmod +t)",
            where);
}

fs::path canonicalPath(const OwnDescriptor& folder) {
    return fs::read_symlink(fmt::format("/proc/self/fd/{}", folder.get()));
}

}  // namespace

std::string randomDigits() {
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) throw Error("the kernel gives no random numbers");
    return fmt::format("{:016x}", number);
}

std::string LeaseFolder::unfinishedName() {
    return kUnfinished + randomDigits();
}

bool LeaseFolder::mine() const {
    return owner_ == ::geteuid();
}

std::optional<LeaseFolder> LeaseFolder::find(const fs::path& folder, const std::string& gpu) {
    const std::string base = plainPath(folder).string();
    const std::optional<Folder> all = openFolder(AT_FDCWD, base, base);
    if (!all) return std::nullopt;
    expectTrusted(all->status, base);
    LeaseFolder found;
    found.base_ = canonicalPath(all->descriptor);
    found.gpu_ = gpu;
    found.owner_ = all->status.st_uid;
    found.forSeveral_ = othersWrite(all->status);
    const std::string where = found.path().string();
    std::optional<Folder> one = openFolder(all->descriptor.get(), gpu, where);
    if (!one) return std::nullopt;
    expectTrusted(one->status, where);
    if (one->status.st_uid != found.owner_)
        throw Error("{}: belongs to user {}, and the folder that it is in to user {}, who may remove it", where,
                    one->status.st_uid, found.owner_);
    found.folder_ = std::move(one->descriptor);
    return found;
}

namespace {

void makeBase(const fs::path& base) {
    std::error_code failed;
    if (base.has_parent_path()) fs::create_directories(base.parent_path(), failed);
    if (::mkdir(base.c_str(), 0700) != 0 && errno != EEXIST)
        throw Error("{}: cannot be made a folder of leases ({}): name another one by --leases or BULKHEAD_LEASES",
                    base.string(), std::strerror(errno));
}

/// Under another name until it has its mode and its book, which nobody else can have made then.
void makeBelow(const Folder& base, const std::string& gpu, const std::string& where) {
    const std::string fresh = LeaseFolder::unfinishedName();
    const int below = base.descriptor.get();
    const auto drop = [&] {
        ::unlinkat(below, (fs::path(fresh) / LeaseFolder::kBook).c_str(), 0);
        ::unlinkat(below, fresh.c_str(), AT_REMOVEDIR);
    };
    const auto fail = [&] {
        const int code = errno;
        drop();
        throw Error("{}: cannot be made a folder of leases ({})", where, std::strerror(code));
    };
    if (::mkdirat(below, fresh.c_str(), 0700) != 0) fail();
    const OwnDescriptor made(
        [&] { return ::openat(below, fresh.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
    const OwnDescriptor book(
        [&] { return ::openat(made.get(), LeaseFolder::kBook, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600); });
    const bool several = othersWrite(base.status);
    if (!made || !book) fail();
    if (several &&
        (::fchmod(book.get(), 0644) != 0 || ::fchown(made.get(), static_cast<uid_t>(-1), base.status.st_gid) != 0 ||
         ::fchmod(made.get(), base.status.st_mode & 07777) != 0))
        fail();
    if (::renameat(below, fresh.c_str(), below, gpu.c_str()) == 0) return;
    // Another process made it meanwhile, or something else is there: find() tells.
    if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) fail();
    drop();
}

}  // namespace

LeaseFolder LeaseFolder::make(const fs::path& folder, const std::string& gpu) {
    if (auto found = find(folder, gpu)) return std::move(*found);
    const fs::path base = plainPath(folder);
    makeBase(base);
    const std::optional<Folder> all = openFolder(AT_FDCWD, base.string(), base.string());
    if (!all) throw Error("{}: was removed", base.string());
    expectTrusted(all->status, base.string());
    const std::string where = (base / gpu).string();
    if (all->status.st_uid != ::geteuid())
        throw Error("{}: is not there, and only user {} makes it: by bulkhead isolate set", where, all->status.st_uid);
    makeBelow(*all, gpu, where);
    auto made = find(folder, gpu);
    if (!made) throw Error("{}: was removed", where);
    return std::move(*made);
}

std::optional<LeaseFolder::File> LeaseFolder::open(const std::string& name) const {
    const int below = folder_.get();
    File file;
    file.descriptor = OwnDescriptor(
        [&] { return ::openat(below, name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
    const int code = errno;
    const bool known = file.descriptor ? ::fstat(file.descriptor.get(), &file.status) == 0
                                       : ::fstatat(below, name.c_str(), &file.status, AT_SYMLINK_NOFOLLOW) == 0;
    if ((!file.descriptor && code == ENOENT) || (!known && errno == ENOENT)) return std::nullopt;
    if (!known) throw Error("{}: cannot be read ({})", where(name), std::strerror(code));
    if (!S_ISREG(file.status.st_mode))
        throw Error("{}: is {} of user {}, not a file: remove it", where(name), kindOf(file.status.st_mode),
                    file.status.st_uid);
    if (!file.descriptor)
        throw Error("{}: a file of user {} cannot be read ({}): remove it", where(name), file.status.st_uid,
                    std::strerror(code));
    if (file.status.st_nlink > 1)
        throw Error("{}: is a file of user {} that has another name too: remove it", where(name), file.status.st_uid);
    return file;
}

std::optional<LeaseFolder::File> LeaseFolder::openOwners(const std::string& name) const {
    std::optional<File> file = open(name);
    if (file && file->status.st_uid != owner_)
        throw Error("{}: belongs to user {}, not to the folder's owner, user {}: remove it", where(name),
                    file->status.st_uid, owner_);
    return file;
}

std::string LeaseFolder::read(const File& file, const std::string& name, std::size_t most) const {
    std::string bytes;
    char buffer[4096];
    while (bytes.size() <= most) {
        const ssize_t n = ::pread(file.descriptor.get(), buffer, sizeof buffer, static_cast<off_t>(bytes.size()));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error("{}: cannot be read ({})", where(name), std::strerror(errno));
        if (n == 0) return bytes;
        bytes.append(buffer, static_cast<std::size_t>(n));
    }
    throw Error("{}: has more than {} bytes", where(name), most);
}

LeaseFolder::File LeaseFolder::create(const std::string& name) const {
    File file;
    file.descriptor = OwnDescriptor([&] {
        return ::openat(folder_.get(), name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    });
    if (file.descriptor && ::fstat(file.descriptor.get(), &file.status) == 0) return file;
    const int code = errno;
    throw Error("{}: cannot be made ({}){}", where(name), std::strerror(code), hint(code));
}

void LeaseFolder::write(const File& file, const std::string& name, std::string_view bytes) const {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file.descriptor.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw Error("{}: cannot be written ({})", where(name), std::strerror(errno));
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
}

void LeaseFolder::publish(const File& file, const std::string& from, const std::string& to) const {
    if ((forSeveral_ && ::fchmod(file.descriptor.get(), 0644) != 0) ||
        ::renameat(folder_.get(), from.c_str(), folder_.get(), to.c_str()) != 0)
        throw Error("{}: cannot be made ({})", where(to), std::strerror(errno));
}

void LeaseFolder::replace(const std::string& name, std::string_view bytes) const {
    open(name);  // refuses what is not a file
    const std::string fresh = unfinishedName();
    try {
        const File file = create(fresh);
        write(file, name, bytes);
        if (::fsync(file.descriptor.get()) != 0)
            throw Error("{}: cannot be written ({})", where(name), std::strerror(errno));
        publish(file, fresh, name);
    } catch (const Error&) {
        remove(fresh);
        throw;
    }
    ::fsync(folder_.get());
}

void LeaseFolder::remove(const std::string& name) const {
    ::unlinkat(folder_.get(), name.c_str(), 0);
}

std::vector<std::string> LeaseFolder::names() const {
    std::vector<std::string> names;
    const int again = ::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, int (*)(DIR*)> list(again >= 0 ? ::fdopendir(again) : nullptr, ::closedir);
    if (!list) throw Error("{}: cannot be read ({})", path().string(), std::strerror(errno));
    while (const dirent* entry = ::readdir(list.get())) names.emplace_back(entry->d_name);
    return names;
}

bool LeaseFolder::holds(const std::string& name, const File& file) const {
    struct stat named = {};
    return ::fstatat(folder_.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 && same(named, file.status);
}

bool LeaseFolder::leadsTo(const std::string& name, const File& file) const {
    struct stat named = {};
    return ::lstat(where(name).c_str(), &named) == 0 && same(named, file.status);
}

}  // namespace bulkhead::isolate
