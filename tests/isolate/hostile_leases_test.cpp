// Folders of leases that somebody else has prepared, filled or locked.

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/files.h"
#include "isolate/lease_marks.h"
#include "isolate/leases.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead::isolate {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr uid_t kMallory = 65534, kAlice = 65533;  // users of this machine that have nothing to do with the test
constexpr unsigned kSms = 20, kColors = 8;
constexpr const char* kGpu = "sim:gtx1080";
constexpr const char* kGpuFolder = "sim_gtx1080";

Plan divide(const std::vector<Partition>& partitions) {
    DivisibleGpu t;
    t.gpu = kGpu;
    t.regionOfSm.assign(kSms, {});
    t.regionOfColor.assign(kColors, {});
    t.memoryBytes = Bytes{kColors} << 30;
    return makePlan(t, partitions);
}

mode_t modeOf(const fs::path& path) {
    struct stat status = {};
    return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

/// What is said, or "fine".
template <class Act>
std::string outcome(Act&& act) {
    try {
        act();
    } catch (const Error& e) {
        return e.what();
    }
    return "fine";
}

void expectSays(const std::string& said, std::initializer_list<std::string> parts) {
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    for (const std::string& part : parts) EXPECT_NE(said.find(part), std::string::npos) << said << "\nlacks: " << part;
}

void become(uid_t user) {
    if (user == geteuid()) return;
    if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0) _exit(90);
}

/// A process of a user that does something, tells what came of it, and, where it is to, stays until it is ended.
class Actor {
  public:
    template <class Act>
    Actor(uid_t user, Act&& act, bool stays = true) {
        int ends[2];
        if (pipe(ends) != 0) std::abort();
        process_ = fork();
        if (process_ == 0) {
            close(ends[0]);
            become(user);
            const std::string said = outcome(act);
            if (write(ends[1], said.data(), said.size()) < 0) _exit(91);
            close(ends[1]);
            if (stays)
                for (;;) pause();
            _exit(0);
        }
        close(ends[1]);
        char buffer[4096];
        for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
            said_.append(buffer, static_cast<std::size_t>(got));
        close(ends[0]);
    }
    ~Actor() { end(); }
    Actor(const Actor&) = delete;
    Actor& operator=(const Actor&) = delete;

    void end() {
        if (process_ <= 0) return;
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
        process_ = -1;
    }
    const std::string& said() const { return said_; }
    std::string process() const { return std::to_string(process_); }

  private:
    pid_t process_ = -1;
    std::string said_;
};

template <class Act>
std::string asUser(uid_t user, Act&& act) {
    return Actor(user, act, false).said();
}

class HostileLeases : public testing::Test {
  protected:
    void SetUp() override {
        alarm(60);  // nothing here may wait for ever
        fs::permissions(directory_.path(), fs::perms(0755));
    }
    void TearDown() override { alarm(0); }

    fs::path folder() const { return directory_ / "leases"; }
    fs::path inside(const std::string& name) const { return folder() / kGpuFolder / name; }
    LeaseBook book(std::chrono::milliseconds patience = 60s) const { return {folder(), {kGpu}, patience}; }
    std::string joining(const std::string& partition = "A", std::chrono::milliseconds patience = 60s) const {
        return outcome([&] { book(patience).join(partition, divide); });
    }
    /// A lease for as long as the process lives.
    auto staying(const std::string& partition) const {
        return [this, partition] { kept() = book().join(partition, divide); };
    }
    static Lease& kept() {
        static Lease lease;
        return lease;
    }
    Outcome verb(const std::string& name, const std::vector<std::string>& words = {}) const {
        std::vector<std::string> all = {BULKHEAD_PROGRAM, "isolate", name, "--gpu", kGpu, "--leases", folder()};
        all.insert(all.end(), words.begin(), words.end());
        return bulkhead::run(all);
    }
    /// As root prepares it.
    void makeForSeveral() const {
        fs::create_directory(folder());
        fs::permissions(folder(), fs::perms(01777));
        book().setPartitions(parsePartitions("A=50%,B=50%"));
    }
    static void write(const fs::path& file, const std::string& bytes) {
        std::ofstream(file, std::ios::binary) << bytes;
    }
    /// Writes a file and locks it, as a lease is.
    static auto locking(const fs::path& file, const std::string& bytes) {
        return [file, bytes] {
            write(file, bytes);
            const int descriptor = open(file.c_str(), O_RDONLY);
            if (descriptor < 0 || flock(descriptor, LOCK_EX) != 0) throw Error("cannot lock it");
        };
    }
    nlohmann::json forged() const {
        return {{"schema", "bulkhead.lease/1"},
                {"process", 1},
                {"program", "forged"},
                {"since", "now"},
                {"partition", {{"name", "A"}, {"sms", "50%"}, {"memory", "50%"}, {"tenants", 1}}},
                {"sms", {0, 1}},
                {"colors", {0}},
                {"memory_bytes", 0}};
    }

    TemporaryDirectory directory_;
};

#define NEED_ROOT() \
    if (geteuid() != 0) GTEST_SKIP() << "only root can play several users"

TEST_F(HostileLeases, AFolderThatIsThereKeepsItsMode) {
    fs::create_directory(folder());
    for (const unsigned mode : {0700u, 0755u}) {
        fs::permissions(folder(), fs::perms(mode));
        EXPECT_EQ(verb("list").exitCode, 0);
        book().setPartitions(parsePartitions("A=100%"));
        EXPECT_EQ(joining(), "fine");
        EXPECT_EQ(modeOf(folder()), mode);
    }
}

TEST_F(HostileLeases, ANewFolderIsForNobodyElse) {
    const mode_t before = umask(0);
    book().setPartitions(parsePartitions("A=100%"));
    const Lease lease = book().join("A", divide);
    umask(before);
    EXPECT_EQ(modeOf(folder()), 0700u);
    for (const auto& entry : fs::recursive_directory_iterator(folder()))
        EXPECT_EQ(modeOf(entry.path()), entry.is_directory() ? 0700u : 0600u) << entry.path();
}

TEST_F(HostileLeases, ALinkIsNotTakenForTheFolder) {
    fs::create_directory(directory_ / "private");
    fs::permissions(directory_ / "private", fs::perms(0700));
    fs::create_directory_symlink(directory_ / "private", folder());
    for (const Outcome& said : {verb("list"), verb("set", {"--partitions", "A=100%"})}) {
        EXPECT_EQ(said.exitCode, 2);
        EXPECT_NE(said.output.find("is a link, not a folder of leases"), std::string::npos) << said.output;
    }
    expectSays(joining(), {"is a link"});
    expectSays(outcome([&] { LeaseBook(folder() / "", {kGpu}).setPartitions(parsePartitions("A=100%")); }),
               {"is a link"});
    EXPECT_EQ(modeOf(directory_ / "private"), 0700u);
    EXPECT_TRUE(fs::is_empty(directory_ / "private"));
}

TEST_F(HostileLeases, AFolderThatOthersWriteMustBeSticky) {
    fs::create_directory(folder());
    for (const unsigned mode : {0777u, 0770u}) {
        fs::permissions(folder(), fs::perms(mode));
        expectSays(outcome([&] { book().setPartitions(parsePartitions("A=100%")); }),
                   {folder().string(), "others may replace what is in it"});
        EXPECT_EQ(modeOf(folder()), mode);
    }
    fs::permissions(folder(), fs::perms(01777));
    book().setPartitions(parsePartitions("A=100%"));
    EXPECT_EQ(joining(), "fine");
    fs::permissions(folder() / kGpuFolder, fs::perms(0777));
    expectSays(joining(), {kGpuFolder, "others may replace what is in it"});
}

TEST_F(HostileLeases, AFolderOfAnotherUserIsRefused) {
    NEED_ROOT();
    fs::create_directory(folder());
    ASSERT_EQ(chown(folder().c_str(), kMallory, kMallory), 0);
    const Outcome list = verb("list");
    EXPECT_EQ(list.exitCode, 2);
    expectSays(list.output.substr(0, list.output.find('\n')), {"belongs to user 65534"});
    expectSays(joining(), {"belongs to user 65534"});
    // Nor one for the GPU, in a folder that is fine.
    ASSERT_EQ(chown(folder().c_str(), 0, 0), 0);
    fs::permissions(folder(), fs::perms(01777));
    EXPECT_EQ(asUser(kMallory, [&] { fs::create_directory(folder() / kGpuFolder); }), "fine");
    expectSays(outcome([&] { book().setPartitions(parsePartitions("A=100%")); }),
               {kGpuFolder, "belongs to user 65534"});
}

TEST_F(HostileLeases, ListingChangesNothing) {
    const Outcome none = verb("list");
    EXPECT_EQ(none.exitCode, 2);
    EXPECT_NE(none.output.find("this folder of leases does not exist"), std::string::npos) << none.output;
    EXPECT_FALSE(fs::exists(folder()));
    book().setPartitions(parsePartitions("A=100%"));
    write(inside("7-0.lease"), "left by a crash");
    write(inside(".new-7"), "likewise");
    EXPECT_EQ(verb("list").exitCode, 0);
    EXPECT_TRUE(fs::exists(inside("7-0.lease")));
    EXPECT_TRUE(fs::exists(inside(".new-7")));
    // Who joins takes them away.
    EXPECT_EQ(joining(), "fine");
    EXPECT_FALSE(fs::exists(inside("7-0.lease")));
    EXPECT_FALSE(fs::exists(inside(".new-7")));
}

TEST_F(HostileLeases, LinkedPartitionsAreNotFollowed) {
    book().setPartitions(parsePartitions("A=100%"));
    const std::string precious = R"({"partitions": [{"name": "A", "sms": "50%"}]})";
    write(directory_ / "precious", precious);
    fs::remove(inside("partitions.json"));
    fs::create_symlink(directory_ / "precious", inside("partitions.json"));
    const Outcome set = verb("set", {"--partitions", "A=100%"});
    EXPECT_EQ(set.exitCode, 2);
    EXPECT_NE(set.output.find("partitions.json: is a link of user"), std::string::npos) << set.output;
    EXPECT_EQ(readFile(directory_ / "precious"), precious);
    EXPECT_TRUE(fs::is_symlink(inside("partitions.json")));
    expectSays(joining(), {"partitions.json: is a link of user"});
}

TEST_F(HostileLeases, WhatIsNoFileIsNamedAndNotWaitedFor) {
    const std::map<std::string, std::function<void(const fs::path&)>> kinds = {
        {"a pipe", [](const fs::path& at) { ASSERT_EQ(mkfifo(at.c_str(), 0666), 0); }},
        {"a folder", [](const fs::path& at) { fs::create_directory(at); }},
        {"a link", [](const fs::path& at) { fs::create_symlink("/dev/zero", at); }},
        {"a socket",
         [](const fs::path& at) {
             sockaddr_un address = {};
             address.sun_family = AF_UNIX;
             std::snprintf(address.sun_path, sizeof address.sun_path, "%s", at.c_str());
             const int made = socket(AF_UNIX, SOCK_STREAM, 0);
             ASSERT_EQ(bind(made, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
             close(made);
         }},
        {"a device",
         [](const fs::path& at) {
             if (geteuid() != 0) return;
             ASSERT_EQ(mknod(at.c_str(), S_IFCHR | 0666, makedev(1, 5)), 0);  // as /dev/zero
         }},
    };
    for (const auto& [kind, make] : kinds) {
        for (const char* name : {"book", "partitions.json", "9-0.lease"}) {
            fs::remove_all(folder());
            book().setPartitions(parsePartitions("A=100%"));
            fs::remove(inside(name));
            make(inside(name));
            if (!fs::exists(fs::symlink_status(inside(name)))) continue;
            expectSays(joining(), {std::string(name) + ": is " + kind + " of user"});
            const Outcome list = verb("list");
            EXPECT_EQ(list.exitCode, 0) << list.output;
            EXPECT_EQ(list.output.find(kind) != std::string::npos, std::string(name) == "9-0.lease") << list.output;
        }
    }
}

TEST_F(HostileLeases, ALockedBookNamesWhoLockedIt) {
    NEED_ROOT();
    makeForSeveral();
    Actor mallory(kMallory, [&] {
        const int descriptor = open(inside("book").c_str(), O_RDONLY);
        if (descriptor < 0 || flock(descriptor, LOCK_EX) != 0) throw Error("cannot lock it");
    });
    ASSERT_EQ(mallory.said(), "fine");
    expectSays(joining("A", 100ms), {"book: process " + mallory.process() + " of user 65534", "locked for 0.1 s"});
    expectSays(outcome([&] { book(100ms).setPartitions(parsePartitions("A=100%")); }), {mallory.process()});
    EXPECT_EQ(verb("list").exitCode, 0);
    // Who waits for long is told for whom.
    testing::internal::CaptureStderr();
    expectSays(joining("A", 1100ms), {mallory.process()});
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              fmt::format("bulkhead: waiting for process {} of user 65534 ({}), which has locked {}\n",
                          mallory.process(), program_invocation_short_name, inside("book").string()));
    mallory.end();
    EXPECT_EQ(joining("A", 100ms), "fine");
}

TEST_F(HostileLeases, UsersJoinAFolderThatRootPrepared) {
    NEED_ROOT();
    makeForSeveral();
    Actor alice(kAlice, staying("A"));
    ASSERT_EQ(alice.said(), "fine");
    expectSays(asUser(kMallory, [&] { book().join("A", divide); }),
               {"partition A is full", "process " + alice.process() + " of user 65533"});
    EXPECT_EQ(asUser(kMallory, [&] { book().join("B", divide); }), "fine");
    // What one user has set or holds is nobody else's to change.
    expectSays(asUser(kMallory, [&] { book().setPartitions(parsePartitions("A=10%")); }),
               {"only user 0 can set the partitions"});
    EXPECT_EQ(asUser(kMallory,
                     [&] {
                         for (const auto& entry : fs::directory_iterator(folder() / kGpuFolder))
                             if (unlink(entry.path().c_str()) == 0) throw Error("{} is gone", entry.path().string());
                         if (rename((folder() / kGpuFolder).c_str(), (folder() / "x").c_str()) == 0)
                             throw Error("the folder is gone");
                     }),
              "fine");
    const Occupancy occupancy = book().occupancy();
    ASSERT_EQ(occupancy.holders.size(), 1u);
    EXPECT_EQ(occupancy.holders[0].user, kAlice);
    EXPECT_TRUE(occupancy.strangers.empty());
}

TEST_F(HostileLeases, AGroupHasAFolderToItself) {
    NEED_ROOT();
    fs::create_directory(folder());
    ASSERT_EQ(chown(folder().c_str(), 0, kAlice), 0);  // who is in the group of her number
    for (const unsigned mode : {01770u, 03770u}) {
        fs::permissions(folder(), fs::perms(mode));
        fs::remove_all(folder() / kGpuFolder);
        book().setPartitions(parsePartitions("A=100%"));
        EXPECT_EQ(modeOf(folder() / kGpuFolder), mode);
        EXPECT_EQ(asUser(kAlice, [&] { book().join("A", divide); }), "fine");
        expectSays(asUser(kMallory, [&] { book().join("A", divide); }), {"Permission denied"});
    }
}

TEST_F(HostileLeases, WithoutPartitionsOnlyTheOwnerMakesAFolderForSeveral) {
    NEED_ROOT();
    fs::create_directory(folder());
    fs::permissions(folder(), fs::perms(01777));
    expectSays(asUser(kAlice, [&] { book().join("A", divide); }), {"no partitions were set"});
    expectSays(asUser(kAlice, [&] { book().setPartitions(parsePartitions("A=100%")); }), {"only user 0 makes it"});
    EXPECT_TRUE(fs::is_empty(folder()));
}

TEST_F(HostileLeases, AFolderThatRootKeepsToItselfSaysHowToShare) {
    NEED_ROOT();
    book().setPartitions(parsePartitions("A=100%"));
    expectSays(asUser(kAlice, [&] { book().join("A", divide); }), {"Permission denied", "install -d -m 1777"});
}

TEST_F(HostileLeases, ALockedFileThatIsNoLeaseIsNamed) {
    NEED_ROOT();
    makeForSeveral();
    Actor mallory(kMallory, locking(inside("1-0.lease"), "garbage \x1b[2J"));
    ASSERT_EQ(mallory.said(), "fine");
    expectSays(asUser(kAlice, [&] { book().join("A", divide); }),
               {"1-0.lease", "process " + mallory.process() + " of user 65534", "not a lease"});
    const Outcome list = verb("list");
    EXPECT_EQ(list.exitCode, 0);
    const std::size_t row = list.output.find("\n?");
    ASSERT_NE(row, std::string::npos) << list.output;
    expectSays(list.output.substr(row + 1, list.output.find('\n', row + 1) - row - 1),
               {mallory.process(), "65534", "1-0.lease", "not a lease"});
    // Root can go on without ending the process.
    fs::remove(inside("1-0.lease"));
    EXPECT_EQ(joining(), "fine");
    mallory.end();
    EXPECT_EQ(joining(), "fine");
}

TEST_F(HostileLeases, FilesOfOthersThatNobodyLocksMeanNothing) {
    NEED_ROOT();
    makeForSeveral();
    EXPECT_EQ(asUser(kMallory, [&] { write(inside("1-0.lease"), forged().dump()); }), "fine");
    EXPECT_EQ(asUser(kAlice, [&] { book().join("A", divide); }), "fine");
    EXPECT_TRUE(fs::exists(inside("1-0.lease")));  // it is not Alice's to remove
    EXPECT_TRUE(book().occupancy().holders.empty());
}

TEST_F(HostileLeases, AForgedLeaseIsItsMakers) {
    NEED_ROOT();
    makeForSeveral();
    nlohmann::json lease = forged();  // which says that process 1 of root's has it
    Actor mallory(kMallory, locking(inside("1-0.lease"), lease.dump()));
    ASSERT_EQ(mallory.said(), "fine");
    const Occupancy occupancy = book().occupancy();
    ASSERT_EQ(occupancy.holders.size(), 1u);
    EXPECT_EQ(std::to_string(occupancy.holders[0].process), mallory.process());
    EXPECT_EQ(occupancy.holders[0].user, kMallory);
    expectSays(joining(), {"walls of A of process " + mallory.process() + " of user 65534"});
    EXPECT_EQ(joining("B"), "fine");
}

TEST_F(HostileLeases, LeasesThatMakeNoSenseKeepEverybodyOutAndAreNamed) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    std::map<std::string, std::string> senseless = {
        {"empty", ""},       {"huge", std::string(2 << 20, ' ') + forged().dump()}, {"deep", std::string(1 << 19, '[')},
        {"no object", "[]"}, {"a number out of range", R"({"process": 1e3082})"},
    };
    const auto with = [&](const char* key, const nlohmann::json& value) {
        nlohmann::json lease = forged();
        lease[key] = value;
        return lease.dump();
    };
    // Overlaps are found by order: what is out of order would overlap with nothing.
    senseless["out of order"] = with("sms", {5, 1, 0});
    senseless["twice"] = with("colors", {1, 1});
    senseless["negative"] = with("sms", {-1});
    senseless["absurd"] = with("sms", {1ull << 40});
    senseless["a fraction"] = with("colors", {0.5});
    senseless["a long name"] = with("program", std::string(100000, 'x'));
    senseless["a share of nothing"] = with("partition", {{"name", "A"}, {"sms", "500%"}});
    for (const auto& [what, bytes] : senseless) {
        Actor holder(geteuid(), locking(inside("1-0.lease"), bytes));
        ASSERT_EQ(holder.said(), "fine");
        expectSays(joining("B"), {"1-0.lease", "process " + holder.process(), "not a lease"});
        EXPECT_EQ(book().occupancy().strangers.size(), 1u) << what;
    }
    EXPECT_EQ(joining("B"), "fine");
}

TEST_F(HostileLeases, ALeaseOfAnotherVersionKeepsOutAndSaysWhichItIs) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    nlohmann::json lease = forged();
    lease["schema"] = "bulkhead.lease/2";
    Actor holder(geteuid(), locking(inside("1-0.lease"), lease.dump()));
    ASSERT_EQ(holder.said(), "fine");
    expectSays(joining("B"), {"1-0.lease", "its schema is \"bulkhead.lease/2\"", "reads bulkhead.lease/1"});
}

TEST_F(HostileLeases, NamesFromLeasesCannotDriveATerminal) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    nlohmann::json lease = forged();
    lease["program"] = "\x1b]0;owned\x07\xc2\x9b[2J\nroot";
    lease["since"] = "\xe2\x80\xae yesterday";
    Actor holder(geteuid(), locking(inside("1-0.lease"), lease.dump()));
    ASSERT_EQ(holder.said(), "fine");
    const Outcome list = verb("list");
    const std::string refused = joining("A");
    for (const std::string& text : {list.output, refused}) {
        EXPECT_NE(text.find("\\x1b]0;owned\\x07\\u009b[2J\\nroot"), std::string::npos) << text;
        EXPECT_NE(text.find("\\u202e yesterday"), std::string::npos) << text;
        for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= ' ' && c < 0x7f));
    }
}

TEST_F(HostileLeases, ALinkedFileIsNoLease) {
    NEED_ROOT();
    makeForSeveral();
    // A file of Alice's under another name.
    write(directory_ / "hers", forged().dump());
    ASSERT_EQ(chown((directory_ / "hers").c_str(), kAlice, kAlice), 0);
    fs::create_hard_link(directory_ / "hers", inside("1-0.lease"));
    expectSays(joining("B"), {"1-0.lease", "user 65533", "another name too"});
}

TEST_F(HostileLeases, AFileThatCannotBeReadKeepsOut) {
    NEED_ROOT();
    makeForSeveral();
    EXPECT_EQ(asUser(kMallory,
                     [&] {
                         write(inside("1-0.lease"), "");
                         fs::permissions(inside("1-0.lease"), fs::perms(0));
                     }),
              "fine");
    expectSays(asUser(kAlice, [&] { book().join("A", divide); }), {"1-0.lease", "user 65534", "Permission denied"});
    EXPECT_EQ(joining(), "fine");  // root can see that nobody holds it, and takes it away
    EXPECT_EQ(asUser(kAlice, [&] { book().join("A", divide); }), "fine");
}

/// The place that a lease of this process has its mark in, from the kernel's list: "@bulkhead/PLACE/PID-NUMBER".
std::string placeOfMark() {
    std::ifstream table("/proc/net/unix");
    const std::string begin = "@bulkhead/", end = fmt::format("/{}-", getpid());
    for (std::string line; std::getline(table, line);) {
        const std::size_t from = line.find(begin), to = line.find(end);
        if (from != std::string::npos && to != std::string::npos)
            return line.substr(from + begin.size(), to - from - begin.size());
    }
    return {};
}

TEST_F(HostileLeases, OthersMarksStopNobodyInAFolderOfTheirOwn) {
    NEED_ROOT();
    for (const bool forSeveral : {false, true}) {
        fs::remove_all(folder());
        if (forSeveral) makeForSeveral();
        book().setPartitions(parsePartitions("A=100%"));
        Lease lease = book().join("A", divide);
        const std::string place = placeOfMark();
        ASSERT_FALSE(place.empty());
        lease.leave();
        static OwnDescriptor mark;
        Actor mallory(kMallory, [&] { mark = putUpMark(place, "1-0"); });
        ASSERT_EQ(mallory.said(), "fine");
        ASSERT_EQ(findMarks(place).size(), 1u);
        if (forSeveral) {
            expectSays(joining("A", 100ms), {"process 1 of user 65534 is behind walls"});
        } else {
            EXPECT_EQ(joining(), "fine");
        }
        EXPECT_EQ(book(100ms).occupancy().strangers.size(), forSeveral ? 1u : 0u);
    }
}

TEST(LeaseMarks, AreTheSameInBothListsOfTheKernel) {
    const std::string place = fmt::format("test-{}", getpid());
    EXPECT_TRUE(findMarks(place).empty());
    const OwnDescriptor one = putUpMark(place, "12-aa"), other = putUpMark(place, "13-bb");
    std::map<std::string, pid_t> listed, read;
    for (const LeaseMark& mark : findMarks(place)) {
        listed[mark.lease] = mark.process;
        ASSERT_TRUE(mark.user);
        EXPECT_EQ(*mark.user, geteuid());
    }
    std::ifstream file("/proc/net/unix");
    const std::string table((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (const LeaseMark& mark : marksIn(table, place)) read[mark.lease] = mark.process;
    EXPECT_EQ(listed, (std::map<std::string, pid_t>{{"12-aa", 12}, {"13-bb", 13}}));
    EXPECT_EQ(read, listed);
}

class DefaultFolder : public testing::Test {
  protected:
    const uid_t user = 50'000 + static_cast<uid_t>(getpid()) % 10'000;  // whose folder in /tmp no other test uses
    const fs::path fallback = fmt::format("/tmp/bulkhead-{}", user);
    TemporaryDirectory directory_;

    void SetUp() override {
        NEED_ROOT();
        ASSERT_FALSE(fs::exists(fallback)) << "an earlier test was ended";
        fs::permissions(directory_.path(), fs::perms(0755));
        unsetenv("BULKHEAD_LEASES");
        unsetenv("XDG_RUNTIME_DIR");
    }
    void TearDown() override {
        if (geteuid() == 0) fs::remove_all(fallback);
    }
    /// The folder that this user has by default with an environment, and what comes of setting partitions there.
    std::string chosen(const std::map<std::string, std::string>& variables, bool use = false) const {
        return asUser(user, [&] {
            for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
            if (use) LeaseBook(LeaseBook::defaultFolder(), {kGpu}).setPartitions(parsePartitions("A=100%"));
            throw Error("{}", LeaseBook::defaultFolder().string());
        });
    }
    fs::path runtime(uid_t owner, unsigned mode) const {
        const fs::path folder = directory_ / fmt::format("runtime-{}-{:o}", owner, mode);
        fs::create_directory(folder);
        fs::permissions(folder, fs::perms(mode));
        if (chown(folder.c_str(), owner, owner) != 0) std::abort();
        return folder;
    }
};

TEST_F(DefaultFolder, IsTheUsersOwn) {
    NEED_ROOT();
    const fs::path own = runtime(user, 0700);
    EXPECT_EQ(chosen({{"XDG_RUNTIME_DIR", own}}), (own / "bulkhead").string());
    EXPECT_EQ(chosen({{"XDG_RUNTIME_DIR", own}, {"BULKHEAD_LEASES", "/else"}}), "/else");
    EXPECT_EQ(chosen({}), fallback.string());
    EXPECT_EQ(chosen({}, true), fallback.string());
    EXPECT_EQ(modeOf(fallback), 0700u);
    struct stat status = {};
    ASSERT_EQ(stat(fallback.c_str(), &status), 0);
    EXPECT_EQ(status.st_uid, user);
}

TEST_F(DefaultFolder, IsNotOneThatOthersOwnOrLookInto) {
    NEED_ROOT();
    for (const std::string& other : {runtime(kMallory, 0700).string(), runtime(user, 0755).string(),
                                     std::string("relative"), (directory_ / "missing").string()})
        EXPECT_EQ(chosen({{"XDG_RUNTIME_DIR", other}}), fallback.string()) << other;
}

TEST_F(DefaultFolder, ThatSomebodyElsePreparedIsRefused) {
    NEED_ROOT();
    ASSERT_EQ(asUser(kMallory, [&] { fs::create_directory(fallback); }), "fine");
    expectSays(chosen({}, true), {fallback.string(), "belongs to user 65534"});
    fs::remove(fallback);
    const fs::path precious = runtime(user, 0700);
    ASSERT_EQ(asUser(kMallory, [&] { fs::create_directory_symlink(precious, fallback); }), "fine");
    expectSays(chosen({}, true), {fallback.string(), "is a link"});
    EXPECT_TRUE(fs::is_empty(precious));
}

}  // namespace
}  // namespace bulkhead::isolate
