#include "isolate/leases.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/environment.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "experiment/result_folder.h"
#include "isolate/lease_marks.h"
#include "isolate/lease_text.h"
#include "isolate/processes.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;
using std::filesystem::path;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kSuffix = ".lease";
constexpr const char* kPartitions = "partitions.json";
constexpr std::size_t kMostBytes = 1 << 20;

constexpr auto kSilence = 1s;    ///< of waiting, before a word is said
constexpr auto kFarewell = 1s;   ///< at most, in which a process that joins or dies may have a mark and no file
constexpr auto kInterval = 5ms;  ///< between looks

/// Locks a file without waiting; false if somebody else has it.
bool tryLock(const LeaseFolder::File& file, int kind, const std::string& where) {
    while (flock(file.descriptor.get(), kind | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return false;
        if (errno != EINTR) throw Error("{}: cannot be locked ({})", where, std::strerror(errno));
    }
    return true;
}

/// Whoever looks takes it for a moment, together with others who look: only holders keep others out.
bool isHeld(const LeaseFolder::File& file, const std::string& where) {
    return !tryLock(file, LOCK_SH, where);
}

void waitForLock(const LeaseFolder::File& file, const std::string& where, std::chrono::milliseconds patience) {
    const auto begin = Clock::now();
    for (bool told = false; !tryLock(file, LOCK_EX, where); std::this_thread::sleep_for(kInterval)) {
        const auto waited = Clock::now() - begin;
        if (waited >= patience)
            throw Error("{}: {} has kept it locked for {} s: try again once it has released the lock or ended", where,
                        describeProcess(lockHolder(file.status)), std::chrono::duration<double>(patience).count());
        if (told || waited < kSilence) continue;
        fmt::print(stderr, "bulkhead: waiting for {}, which has locked {}\n",
                   printable(describeProcess(lockHolder(file.status))), printable(where));
        told = true;
    }
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
    return failed ? "?" : printable(program.filename().string());
}

/// Whom the kernel knows as the holder of a lock. What the file says counts only where the kernel says nothing, and for
/// a process of the file's owner.
std::optional<Process> processBehind(const LeaseFolder::File& file, pid_t claimed) {
    if (const std::optional<pid_t> known = lockHolder(file.status)) {
        const std::optional<Process> process = findProcess(*known);
        return process ? process : Process{*known, file.status.st_uid, ""};
    }
    if (claimed <= 0) return std::nullopt;
    const std::optional<Process> process = findProcess(claimed);
    if (!process || process->user != file.status.st_uid) return std::nullopt;
    return process;
}

/// Living leases in the files of a folder.
struct Reading {
    Occupancy occupancy;
    std::set<std::string> leases;  ///< names without what they end in

    void addAll(const LeaseFolder& folder) {
        for (const std::string& name : folder.names())
            if (name.ends_with(kSuffix)) add(folder, name);
    }

  private:
    void add(const LeaseFolder& folder, const std::string& name) {
        const std::string where = (folder.path() / name).string();
        try {
            const std::optional<LeaseFolder::File> file = folder.open(name);
            if (!file || !isHeld(*file, where)) return;  // left just now, or nobody's
            leases.insert(name.substr(0, name.size() - kSuffix.size()));
            addHeld(folder, name, *file);
        } catch (const Error& e) {
            occupancy.strangers.push_back({0, std::nullopt, e.what()});
        }
    }

    void addHeld(const LeaseFolder& folder, const std::string& name, const LeaseFolder::File& file) {
        const uid_t owner = file.status.st_uid;
        try {
            Holder holder = readLease(folder.read(file, name, kMostBytes));
            const std::optional<Process> process = processBehind(file, holder.process);
            holder.process = process ? process->id : 0;
            holder.user = process ? process->user : owner;
            occupancy.holders.push_back(std::move(holder));
        } catch (const Error& e) {
            const std::optional<Process> process = processBehind(file, 0);
            const std::optional<pid_t> id = process ? std::optional(process->id) : std::nullopt;
            occupancy.strangers.push_back(
                {id.value_or(0), process ? process->user : owner,
                 fmt::format("{}: {} has locked this file of user {}, which is not a lease ({}): nobody can join until "
                             "that process ends or the file is removed",
                             (folder.path() / name).string(), describeProcess(id), owner, e.what())});
        }
    }
};

std::string describe(const Holder& holder) {
    const std::string process =
        holder.process == 0 ? "a process that cannot be seen from here" : fmt::format("process {}", holder.process);
    const std::string user = holder.user == geteuid() ? "" : fmt::format(" of user {}", holder.user);
    return fmt::format("{} of {}{} ({}, since {})", holder.share.partition.name, process, user, holder.program,
                       holder.since);
}

/// The same walls under the same name: tenants of one partition.
bool samePlace(const Share& a, const Share& b) {
    return a.partition.name == b.partition.name && a.sms == b.sms && a.colors == b.colors;
}

/// Those in strict partitions rely on the memory walls of everybody else.
void expectStrictness(const Share& wanted, const std::vector<Holder>& holders) {
    for (const Holder& holder : holders) {
        if (wanted.partition.strict && !holder.share.memoryWall)
            throw Error("partition {} is strict, and {} has no memory wall: it can be joined after that has left",
                        wanted.partition.name, describe(holder));
        if (!wanted.memoryWall && holder.share.partition.strict)
            throw Error("without a memory wall nobody can join beside {}, whose partition is strict", describe(holder));
    }
}

void expectRoom(const Share& wanted, const std::vector<Holder>& holders) {
    unsigned inside = 0;
    const Holder* last = nullptr;
    for (const Holder& holder : holders) {
        if (samePlace(holder.share, wanted)) {
            ++inside;
            last = &holder;
        } else if (holder.share.overlaps(wanted)) {
            throw Error("partition {}: overlaps the walls of {}: it can be joined after that has left",
                        wanted.partition.name, describe(holder));
        }
    }
    if (inside >= wanted.partition.tenants)
        throw Error("partition {} is full: {} of {} programs, the last is {}", wanted.partition.name, inside,
                    wanted.partition.tenants, describe(*last));
}

/// Whether a file is there that nobody holds.
bool isAbandoned(const LeaseFolder& folder, const std::string& name) {
    try {
        const std::optional<LeaseFolder::File> file = folder.open(name);
        return file && !isHeld(*file, name);
    } catch (const Error&) {
        return false;  // no file of ours; who looks next says so
    }
}

/// Takes away what is nobody's, while the book is locked: nothing is being made then. Of other users it stays where it
/// is theirs to remove, and means nothing.
void sweep(const LeaseFolder& folder) {
    for (const std::string& name : folder.names()) {
        if (!name.ends_with(kSuffix) && !name.starts_with(LeaseFolder::kUnfinished)) continue;
        if (isAbandoned(folder, name)) folder.remove(name);
    }
}

void expectNoneStrict(const std::vector<Partition>& partitions, const std::string& name) {
    for (const Partition& partition : partitions)
        if (partition.strict)
            throw Error("partition {}: partition {} is strict, so nobody can be inside without a memory wall", name,
                        partition.name);
}

/// A folder of this user's that nobody else can even look into.
bool isPrivate(const path& folder) {
    struct stat status = {};
    return folder.is_absolute() && stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           status.st_uid == geteuid() && (status.st_mode & 0777) == 0700;
}

}  // namespace

Lease::Lease(Lease&& other) noexcept
    : place_(std::exchange(other.place_, std::nullopt)), holder_(std::move(other.holder_)) {}

Lease& Lease::operator=(Lease&& other) noexcept {
    std::swap(place_, other.place_);
    std::swap(holder_, other.holder_);
    return *this;
}

void Lease::expectValid() const {
    const std::string& name = holder_.share.partition.name;
    if (place_ && holder_.process != getpid())
        throw Error("stale lease: partition {} was joined by process {}, not by its child", name, holder_.process);
    if (!held()) throw Error("stale lease: {}", name.empty() ? "no partition was joined" : name + " was left");
    if (!place_->folder.leadsTo(place_->name, place_->file))
        throw Error("stale lease: {} of partition {} is gone", (place_->folder.path() / place_->name).string(), name);
}

void Lease::leave() {
    // A file without a mark is still a lease, a mark without a file is a stranger.
    if (held()) {
        place_->mark = OwnDescriptor();
        if (place_->folder.holds(place_->name, place_->file)) place_->folder.remove(place_->name);
    }
    place_.reset();
}

LeaseBook::LeaseBook(path folder, GpuIdentity gpu, std::chrono::milliseconds patience)
    : base_(std::move(folder)), gpu_(std::move(gpu)), patience_(patience) {}

path LeaseBook::defaultFolder() {
    if (const std::string given = environment("BULKHEAD_LEASES"); !given.empty()) return given;
    const uid_t user = geteuid();
    for (const path& runtime : {path(environment("XDG_RUNTIME_DIR")), path(fmt::format("/run/user/{}", user))})
        if (isPrivate(runtime)) return runtime / "bulkhead";
    // Nobody else can have made anything in /run; what somebody else made in /tmp is refused.
    return fmt::format("{}/bulkhead-{}", user == 0 && euidaccess("/run", W_OK) == 0 ? "/run" : "/tmp", user);
}

std::optional<LeaseFolder> LeaseBook::findFolder() const {
    return LeaseFolder::find(base_, plain(gpu_.name));
}

LeaseFolder LeaseBook::openFolder() const {
    return LeaseFolder::make(base_, plain(gpu_.name));
}

LeaseFolder LeaseBook::expectPartitions() const {
    std::optional<LeaseFolder> folder = findFolder();
    if (!folder || !folder->openOwners(kPartitions))
        throw Error("no partitions were set for this GPU in {}: use bulkhead isolate set --partitions A=50%,B=50%",
                    base_.string());
    return std::move(*folder);
}

/// Only one process at a time looks and decides.
LeaseFolder::File LeaseBook::lockBook(const LeaseFolder& folder) const {
    const std::string where = (folder.path() / LeaseFolder::kBook).string();
    while (true) {
        std::optional<LeaseFolder::File> book = folder.openOwners(LeaseFolder::kBook);
        if (!book) {
            if (!folder.mine()) throw Error("{}: is missing: user {} sets partitions anew", where, folder.owner());
            folder.replace(LeaseFolder::kBook, "");
            continue;
        }
        waitForLock(*book, where, patience_);
        if (folder.holds(LeaseFolder::kBook, *book)) return std::move(*book);  // or it was replaced while we waited
    }
}

/// Processes on a real GPU see each other whatever folder they use; those with a simulated one have nothing to do with
/// each other but by their folder.
std::string LeaseBook::markPlace() const {
    if (gpu_.real) return plain(gpu_.name);
    return experiment::fingerprint(gpu_.name + "\n" + std::filesystem::weakly_canonical(base_).string());
}

/// Those who have a mark, but no lease among these.
std::vector<Stranger> LeaseBook::unnamed(const std::set<std::string>& leases, bool anybodys) const {
    std::vector<Stranger> strangers;
    for (const LeaseMark& mark : findMarks(markPlace())) {
        if (leases.contains(mark.lease) || (!anybodys && mark.user && *mark.user != geteuid())) continue;
        const std::string user = mark.user ? fmt::format(" of user {}", *mark.user) : "";
        strangers.push_back(
            {mark.process, mark.user,
             fmt::format("process {}{} is behind walls of {}, but has no lease in {}: it was removed, or "
                         "is in another folder; nobody can join until that process has left",
                         mark.process, user, gpu_.name, base_.string())});
    }
    return strangers;
}

Occupancy LeaseBook::look(const LeaseFolder* folder, const std::string& own) const {
    // Nobody else can have had a lease in a user's own folder, so others' marks are idle there.
    const bool anybodys = gpu_.real || (folder && folder->forSeveral());
    const auto end = Clock::now() + std::min<Clock::duration>(kFarewell, patience_);
    for (;; std::this_thread::sleep_for(kInterval)) {
        Reading reading;
        if (folder) reading.addAll(*folder);
        reading.leases.insert(own);
        const std::vector<Stranger> others = unnamed(reading.leases, anybodys);
        if (!others.empty() && Clock::now() < end) continue;
        std::vector<Stranger>& strangers = reading.occupancy.strangers;
        strangers.insert(strangers.end(), others.begin(), others.end());
        return std::move(reading.occupancy);
    }
}

bool LeaseBook::hasAbandoned(const path& base) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(base, none)) {
        try {
            const std::optional<LeaseFolder> folder = LeaseFolder::find(base, entry.path().filename().string());
            if (!folder) continue;
            for (const std::string& name : folder->names())
                if (name.ends_with(kSuffix) && isAbandoned(*folder, name)) return true;
        } catch (const Error&) {
            // No folder of ours; who joins says so.
        }
    }
    return false;
}

void LeaseBook::forgetAbandoned() const {
    const std::optional<LeaseFolder> folder = findFolder();
    if (!folder) return;
    const LeaseFolder::File book = lockBook(*folder);
    sweep(*folder);
}

Lease LeaseBook::enter(LeaseFolder folder, const Share& share) const {
    const Holder holder = {getpid(), geteuid(), programName(), currentDate(), share};
    const std::string lease = fmt::format("{}-{}", holder.process, randomDigits());
    OwnDescriptor mark = putUpMark(markPlace(), lease);
    sweep(folder);
    const Occupancy others = look(&folder, lease);
    if (!others.strangers.empty()) throw Error("{}", others.strangers.front().why);
    expectRoom(share, others.holders);
    expectStrictness(share, others.holders);
    // It gets its name when it is whole and locked: a lease that can be seen is one that is held.
    const std::string unfinished = LeaseFolder::unfinishedName(), name = lease + std::string(kSuffix);
    try {
        LeaseFolder::File file = folder.create(unfinished);
        if (!tryLock(file, LOCK_EX, unfinished)) throw Error("{}: is locked by another process", unfinished);
        folder.write(file, unfinished, leaseText(holder));
        folder.publish(file, unfinished, name);
        return {{std::move(folder), name, std::move(file), std::move(mark)}, holder};
    } catch (const Error&) {
        folder.remove(unfinished);
        throw;
    }
}

Lease LeaseBook::join(const Share& share) {
    LeaseFolder folder = openFolder();
    const LeaseFolder::File book = lockBook(folder);
    return enter(std::move(folder), share);
}

Lease LeaseBook::join(const std::string& name, const std::function<Plan(const std::vector<Partition>&)>& divide,
                      bool memoryWall) {
    LeaseFolder folder = expectPartitions();
    const LeaseFolder::File book = lockBook(folder);
    const std::vector<Partition> partitions = partitionsIn(folder);
    if (!memoryWall) expectNoneStrict(partitions, name);
    Share share = divide(partitions).find(name);
    share.memoryWall = memoryWall;
    return enter(std::move(folder), share);
}

void LeaseBook::setPartitions(const std::vector<Partition>& partitions, const std::string& mapFile) {
    validate(partitions, "partitions");
    nlohmann::ordered_json json = isolate::toJson(partitions);
    const std::string map = mapFile.empty() ? "" : readFile(mapFile);
    const LeaseFolder folder = openFolder();
    if (!folder.mine())
        throw Error("{}: only user {} can set the partitions of this folder", folder.path().string(), folder.owner());
    const LeaseFolder::File book = lockBook(folder);
    sweep(folder);
    if (!mapFile.empty()) {
        // By content, so that it is whole before anything names it.
        const std::string name = fmt::format("map-{}.json", experiment::fingerprint(map));
        folder.replace(name, map);
        json["map"] = name;
    }
    folder.replace(kPartitions, json.dump(2) + "\n");
}

json LeaseBook::read(const LeaseFolder& folder) const {
    const std::optional<LeaseFolder::File> file = folder.openOwners(kPartitions);
    if (!file) throw Error("{}: was removed", (folder.path() / kPartitions).string());
    return parseJson(folder.read(*file, kPartitions, kMostBytes), (folder.path() / kPartitions).string());
}

std::vector<Partition> LeaseBook::partitionsIn(const LeaseFolder& folder) const {
    return partitionsFromJson(read(folder), (folder.path() / kPartitions).string());
}

std::vector<Partition> LeaseBook::partitions() const {
    return partitionsIn(expectPartitions());
}

std::string LeaseBook::map() const {
    const LeaseFolder folder = expectPartitions();
    const json all = read(folder);
    if (!all.is_object() || !all.contains("map")) return {};
    const std::string where = (folder.path() / kPartitions).string();
    if (!all["map"].is_string()) throw Error("{}: \"map\" is not a file name", where);
    const std::string name = path(all["map"].get<std::string>()).filename().string();
    if (!folder.openOwners(name)) throw Error("{}: its map {} is missing: set the partitions again", where, name);
    return (folder.path() / name).string();
}

Occupancy LeaseBook::occupancy() const {
    const std::optional<LeaseFolder> folder = findFolder();
    return look(folder ? &*folder : nullptr, "");
}

}  // namespace bulkhead::isolate
