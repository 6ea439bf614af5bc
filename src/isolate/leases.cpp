#include "isolate/leases.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "base/result.h"
#include "compare/store.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;
using std::filesystem::path;

constexpr const char* kSuffix = ".lease";
constexpr const char* kPartitions = "partitions.json";

/// Opens a file that any user may have made. O_CREAT comes second and alone: kernels that protect shared folders refuse
/// it for files of others.
int openShared(const path& file) {
    while (true) {
        int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (descriptor >= 0 || errno != ENOENT) return descriptor;
        descriptor = open(file.c_str(), O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (descriptor >= 0 || errno != EEXIST) return descriptor;
    }
}

bool lock(int descriptor, bool wait) {
    while (flock(descriptor, LOCK_EX | (wait ? 0 : LOCK_NB)) != 0)
        if (errno != EINTR) return false;
    return true;
}

void makeFolder(const path& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (!std::filesystem::is_directory(folder))
        throw Error("{}: cannot be made a folder for leases ({})", folder.string(),
                    failed ? failed.message() : "it is a file");
}

/// A file's name from what identifies a GPU.
std::string plain(std::string text) {
    for (char& c : text)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.') c = '_';
    return text;
}

std::string programName() {
    std::error_code failed;
    const path program = std::filesystem::read_symlink("/proc/self/exe", failed);
    return failed ? "?" : program.filename().string();
}

json toJson(const Holder& holder) {
    const Share& share = holder.share;
    return {{"process", holder.process},
            {"program", holder.program},
            {"since", holder.since},
            {"partition", isolate::toJson({share.partition}).at("partitions").at(0)},
            {"multiprocessors", share.multiprocessors},
            {"colors", share.colors},
            {"memory_bytes", share.memoryBytes}};
}

Holder holderFrom(const json& value, const std::string& where) {
    try {
        Holder holder;
        holder.process = value.at("process");
        holder.program = value.at("program");
        holder.since = value.at("since");
        holder.share.partition =
            partitionsFromJson({{"partitions", json::array({value.at("partition")})}}, where).front();
        holder.share.multiprocessors = value.at("multiprocessors").get<std::vector<unsigned>>();
        holder.share.colors = value.at("colors").get<std::vector<unsigned>>();
        holder.share.memoryBytes = value.at("memory_bytes");
        return holder;
    } catch (const json::exception&) {
        throw Error("{}: a lease that somebody holds is damaged: end its process", where);
    }
}

std::string readAll(int descriptor, const path& file) {
    std::string bytes;
    char buffer[4096];
    for (off_t at = 0;;) {
        const ssize_t n = pread(descriptor, buffer, sizeof buffer, at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) throw Error("{}: cannot be read ({})", file.string(), std::strerror(errno));
        if (n == 0) return bytes;
        bytes.append(buffer, static_cast<std::size_t>(n));
        at += n;
    }
}

void writeAll(int descriptor, const std::string& bytes, const path& file) {
    for (std::size_t done = 0; done < bytes.size();) {
        const ssize_t n = write(descriptor, bytes.data() + done, bytes.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw Error("{}: cannot be written ({})", file.string(), std::strerror(errno));
        done += static_cast<std::size_t>(n);
    }
}

std::string describe(const Holder& holder) {
    return fmt::format("{} of process {} ({}, since {})", holder.share.partition.name, holder.process, holder.program,
                       holder.since);
}

/// The same walls under the same name: tenants of one partition.
bool samePlace(const Share& a, const Share& b) {
    return a.partition.name == b.partition.name && a.multiprocessors == b.multiprocessors && a.colors == b.colors;
}

void expectRoom(const Share& wanted, const std::vector<Holder>& holders) {
    unsigned inside = 0;
    const Holder* last = nullptr;
    for (const Holder& holder : holders) {
        if (samePlace(holder.share, wanted)) {
            ++inside;
            last = &holder;
        } else if (holder.share.overlaps(wanted)) {
            throw Error("partition {}: walls of {} stand in it: it can be joined when that has left",
                        wanted.partition.name, describe(holder));
        }
    }
    if (inside >= wanted.partition.tenants)
        throw Error("partition {} is full: {} of {} inside, the last {}", wanted.partition.name, inside,
                    wanted.partition.tenants, describe(*last));
}

}  // namespace

LockedFile::~LockedFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

LockedFile::LockedFile(LockedFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

LockedFile& LockedFile::operator=(LockedFile&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(descriptor_, other.descriptor_);
    return *this;
}

bool LockedFile::inPlace() const {
    struct stat mine = {}, named = {};
    return fstat(descriptor_, &mine) == 0 && stat(path_.c_str(), &named) == 0 && mine.st_ino == named.st_ino &&
           mine.st_dev == named.st_dev;
}

Lease& Lease::operator=(Lease&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(holder_, other.holder_);
    return *this;
}

void Lease::expectValid() const {
    const std::string& name = holder_.share.partition.name;
    if (!held()) throw Error("stale lease: {}", name.empty() ? "no partition was joined" : name + " was left");
    if (holder_.process != getpid())
        throw Error("stale lease: partition {} was joined by process {}, not by its child", name, holder_.process);
    if (!file_.inPlace())
        throw Error("stale lease: {} is gone, so others may join partition {} too", file_.path().string(), name);
}

void Lease::leave() {
    if (!held()) return;
    // A child of a fork must not take away its parent's.
    if (holder_.process == getpid() && file_.inPlace()) unlink(file_.path().c_str());
    file_ = LockedFile();
}

LeaseBook::LeaseBook(const path& folder, const std::string& identity) : folder_(folder / plain(identity)) {
    makeFolder(folder);
    makeFolder(folder_);
    // For all users; fails without harm where another one made them.
    for (const path& each : {folder, folder_}) chmod(each.c_str(), 01777);
}

path LeaseBook::defaultFolder() {
    const char* const given = std::getenv("BULKHEAD_LEASES");
    return given && *given ? path(given) : std::filesystem::temp_directory_path() / "bulkhead-leases";
}

/// Only one process at a time looks and decides.
LockedFile LeaseBook::lockBook() const {
    const path file = folder_ / "book";
    while (true) {
        LockedFile book(file, openShared(file));
        if (book.descriptor() < 0 || !lock(book.descriptor(), true))
            throw Error("{}: cannot be locked ({})", file.string(), std::strerror(errno));
        if (book.inPlace()) return book;  // otherwise somebody removed it while we waited
    }
}

std::vector<Holder> LeaseBook::living() const {
    std::vector<Holder> holders;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
        if (entry.path().extension() != kSuffix) continue;
        const LockedFile file(entry.path(), open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
        if (file.descriptor() < 0) continue;  // left just now
        if (lock(file.descriptor(), false)) {
            unlink(entry.path().c_str());  // nobody's; where it was another user's it stays, and means nothing
            continue;
        }
        holders.push_back(
            holderFrom(parseJson(readAll(file.descriptor(), entry.path()), entry.path().string()), entry.path()));
    }
    return holders;
}

Lease LeaseBook::enter(const Share& share) const {
    expectRoom(share, living());
    const Holder holder = {getpid(), programName(), currentDate(), share};
    for (unsigned n = 0;; ++n) {
        const path file = folder_ / fmt::format("{}-{}{}", holder.process, n, kSuffix);
        LockedFile place(file, open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
        if (place.descriptor() < 0 && errno == EEXIST) continue;
        if (place.descriptor() < 0 || !lock(place.descriptor(), false))
            throw Error("{}: cannot be made ({})", file.string(), std::strerror(errno));
        writeAll(place.descriptor(), toJson(holder).dump() + "\n", file);
        return {std::move(place), holder};
    }
}

Lease LeaseBook::join(const Share& share) {
    const LockedFile book = lockBook();
    return enter(share);
}

Lease LeaseBook::join(const std::string& name, const std::function<Plan(const std::vector<Partition>&)>& divide) {
    const LockedFile book = lockBook();
    return enter(divide(partitions()).find(name));
}

void LeaseBook::setPartitions(const std::vector<Partition>& partitions, const std::string& mapFile) {
    validate(partitions, "partitions");
    nlohmann::ordered_json json = isolate::toJson(partitions);
    const LockedFile book = lockBook();
    if (!mapFile.empty()) {
        // By content, so that it is whole before anything names it.
        const std::string map = readFile(mapFile);
        const std::string name = fmt::format("map-{}.json", compare::fingerprint(map));
        if (!std::filesystem::exists(folder_ / name)) writeFile(folder_ / name, map);
        json["map"] = name;
    }
    writeFile(folder_ / kPartitions, json.dump(2) + "\n");
}

json LeaseBook::read() const {
    const path file = folder_ / kPartitions;
    if (!std::filesystem::exists(file))
        throw Error("no partitions were set for this GPU: use bulkhead isolate set --partitions A=50%,B=50%");
    return parseJson(readFile(file), file.string());
}

std::vector<Partition> LeaseBook::partitions() const {
    return partitionsFromJson(read(), (folder_ / kPartitions).string());
}

std::string LeaseBook::map() const {
    const json all = read();
    if (!all.is_object() || !all.contains("map")) return {};
    if (!all["map"].is_string()) throw Error("{}: \"map\" is no name of a file", (folder_ / kPartitions).string());
    return (folder_ / path(all["map"].get<std::string>()).filename()).string();
}

std::vector<Holder> LeaseBook::holders() {
    const LockedFile book = lockBook();
    return living();
}

}  // namespace bulkhead::isolate
