#include "isolate/leases.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <random>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "temporary_directory.h"

namespace bulkhead::isolate {
namespace {

constexpr unsigned kSms = 20, kColors = 8;

DivisibleGpu topology() {
    DivisibleGpu t;
    t.gpu = "test";
    t.regionOfSm.assign(kSms, {});
    t.regionOfColor.assign(kColors, {});
    t.memoryBytes = Bytes{kColors} << 30;
    return t;
}

Plan divide(const std::vector<Partition>& partitions) {
    return makePlan(topology(), partitions);
}

/// What a refusal says; "joined" if there was none.
template <class Join>
std::string refusal(Join&& join) {
    try {
        const Lease lease = join();
    } catch (const Error& e) {
        return e.what();
    }
    return "joined";
}

class Leases : public testing::Test {
  protected:
    LeaseBook book(std::chrono::milliseconds patience = std::chrono::seconds(60)) {
        return {directory_.path(), {"test"}, patience};
    }
    TemporaryDirectory directory_;
};

/// A process that joins and then waits until it is killed.
class Child {
  public:
    explicit Child(const std::function<void()>& work) {
        int ends[2];
        if (pipe(ends) != 0) std::abort();
        pid_ = fork();
        if (pid_ == 0) {
            try {
                work();
            } catch (...) {
                _exit(1);
            }
            if (write(ends[1], "x", 1) != 1) _exit(1);
            while (true) pause();
        }
        close(ends[1]);
        char byte = 0;
        ready_ = read(ends[0], &byte, 1) == 1;
        close(ends[0]);
    }
    ~Child() { end(SIGKILL); }
    bool ready() const { return ready_; }
    pid_t process() const { return pid_; }
    void end(int signal) {
        if (pid_ <= 0) return;
        kill(pid_, signal);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }

  private:
    pid_t pid_ = -1;
    bool ready_ = false;
};

TEST_F(Leases, APartitionHoldsOneUnlessItSaysMore) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease a = book().join("A", divide);
    EXPECT_EQ(a.share().sms.size(), kSms / 2);
    const std::string why = refusal([&] { return book().join("A", divide); });
    EXPECT_NE(why.find("partition A is full: 1 of 1 programs"), std::string::npos) << why;
    EXPECT_NE(why.find(std::to_string(getpid())), std::string::npos) << why;
    EXPECT_EQ(refusal([&] { return book().join("B", divide); }), "joined");
}

TEST_F(Leases, TenantsShareAPartition) {
    std::vector<Partition> partitions = parsePartitions("A=50%,B=50%");
    partitions[0].tenants = 2;
    book().setPartitions(partitions);
    const Lease first = book().join("A", divide), second = book().join("A", divide);
    EXPECT_NE(refusal([&] { return book().join("A", divide); }).find("2 of 2 programs"), std::string::npos);
}

TEST_F(Leases, SayWhoHasNoMemoryWall) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    const Lease a = book().join("A", divide, false), b = book().join("B", divide);
    EXPECT_FALSE(a.share().memoryWall);
    for (const Holder& holder : book().occupancy().holders)
        EXPECT_EQ(holder.share.memoryWall, holder.share.partition.name == "B");
}

TEST_F(Leases, NobodyIsBesideAStrictPartitionWithoutAMemoryWall) {
    std::vector<Partition> partitions = parsePartitions("A=50%,B=50%");
    book().setPartitions(partitions);
    partitions[1].strict = true;
    {
        const Lease before = book().join("A", divide, false);
        book().setPartitions(partitions);
        EXPECT_NE(refusal([&] { return book().join("B", divide); }).find("B is strict, and A of process"),
                  std::string::npos);
    }
    for (const char* name : {"A", "B"})
        EXPECT_NE(refusal([&] { return book().join(name, divide, false); }).find("partition B is strict"),
                  std::string::npos);
    const Lease b = book().join("B", divide);
    EXPECT_EQ(refusal([&] { return book().join("A", divide); }), "joined");
    // Whoever is inside keeps what was promised to it.
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    EXPECT_NE(refusal([&] { return book().join("A", divide, false); }).find("whose partition is strict"),
              std::string::npos);
}

TEST_F(Leases, LeavingMakesRoom) {
    book().setPartitions(parsePartitions("A=100%"));
    book().join("A", divide).leave();
    EXPECT_EQ(refusal([&] { return book().join("A", divide); }), "joined");
    EXPECT_TRUE(book().occupancy().holders.empty());
}

TEST_F(Leases, AKilledProcessFreesItsPartition) {
    book().setPartitions(parsePartitions("A=100%"));
    Lease lease;
    Child child([&] { lease = book().join("A", divide); });
    ASSERT_TRUE(child.ready());
    EXPECT_NE(refusal([&] { return book().join("A", divide); }).find("full"), std::string::npos);
    child.end(SIGKILL);
    EXPECT_EQ(refusal([&] { return book().join("A", divide); }), "joined");
}

TEST_F(Leases, UnknownPartitionsAndMissingOnesAreErrors) {
    EXPECT_NE(refusal([&] { return book().join("A", divide); }).find("no partitions were set"), std::string::npos);
    book().setPartitions(parsePartitions("A=50%"));
    EXPECT_NE(refusal([&] { return book().join("C", divide); }).find("no partition C on test"), std::string::npos);
}

TEST_F(Leases, PlansWrittenDifferentlyCannotHoldTheSameWalls) {
    const Lease half = book().join(divide(parsePartitions("A=50%,B=50%")).find("A"));
    const std::string why = refusal([&] { return book().join(divide(parsePartitions("mine=100%")).find("mine")); });
    EXPECT_NE(why.find("walls of A"), std::string::npos) << why;
    // SMs apart are not enough where memory is shared.
    Share memoryOnly = half.share();
    memoryOnly.partition.name = "M";
    memoryOnly.sms = {kSms - 1};
    EXPECT_NE(refusal([&] { return book().join(memoryOnly); }).find("walls of A"), std::string::npos);
    // Nor is another number of tenants a way in.
    Share twice = half.share();
    twice.partition.name = "A2";
    twice.partition.tenants = 2;
    EXPECT_NE(refusal([&] { return book().join(twice); }).find("walls of A"), std::string::npos);
}

TEST_F(Leases, SizesChangeForWhoeverJoinsNext) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    Lease a = book().join("A", divide);
    book().setPartitions(parsePartitions("A=25%,B=75%"));
    EXPECT_EQ(a.share().sms.size(), kSms / 2);  // it keeps what it has
    EXPECT_NE(refusal([&] { return book().join("B", divide); }).find("can be joined after that has left"),
              std::string::npos);
    a.leave();
    EXPECT_EQ(book().join("B", divide).share().sms.size(), kSms * 3 / 4);
}

TEST_F(Leases, TheBookKeepsTheMapOfItsPartitions) {
    const std::string file = (directory_ / "mine.json").string();
    std::ofstream(file) << "a map";
    book().setPartitions(parsePartitions("A=50%,B=50%"), file);
    std::filesystem::remove(file);
    EXPECT_EQ(readFile(book().map()), "a map");
    EXPECT_EQ(book().partitions().size(), 2u);
    book().setPartitions(parsePartitions("A=100%"));
    EXPECT_EQ(book().map(), "");
}

TEST_F(Leases, AStaleLeaseIsAnError) {
    book().setPartitions(parsePartitions("A=100%"));
    Lease lease = book().join("A", divide);
    EXPECT_NO_THROW(lease.expectValid());
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() / "test"))
        if (entry.path().extension() == ".lease") std::filesystem::remove(entry.path());
    EXPECT_THROW(lease.expectValid(), Error);
    lease.leave();
    EXPECT_THROW(lease.expectValid(), Error);
    EXPECT_THROW(Lease().expectValid(), Error);
}

TEST_F(Leases, AForkDoesNotGiveAwayItsParentsLease) {
    book().setPartitions(parsePartitions("A=100%"));
    Lease lease = book().join("A", divide);
    Child child([&] {
        bool stale = false;
        try {
            lease.expectValid();
        } catch (const Error&) {
            stale = true;
        }
        lease.leave();
        if (!stale) throw Error("the child took it for its own");
    });
    ASSERT_TRUE(child.ready());
    EXPECT_NO_THROW(lease.expectValid());
    EXPECT_NE(refusal([&] { return book().join("A", divide); }).find("full"), std::string::npos);
}

TEST_F(Leases, FilesThatNobodyLocksMeanNothing) {
    book().setPartitions(parsePartitions("A=100%"));
    std::ofstream(directory_.path() / "test" / "123-0.lease") << "{\"process\": 1";
    std::ofstream(directory_.path() / "test" / "124-0.lease") << "";
    EXPECT_EQ(refusal([&] { return book().join("A", divide); }), "joined");
}

TEST_F(Leases, FilesThatNobodyLocksGoWhenPartitionsAreSet) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    Lease living = book().join("A", divide);
    Child dead([&] { [[maybe_unused]] static const Lease kept = book().join("B", divide); });
    ASSERT_TRUE(dead.ready());
    dead.end(SIGKILL);
    const auto files = [&] {
        return std::count_if(std::filesystem::directory_iterator(directory_.path() / "test"), {},
                             [](const auto& entry) { return entry.path().extension() == ".lease"; });
    };
    EXPECT_EQ(files(), 2);
    book().setPartitions(parsePartitions("A=100%"));
    EXPECT_EQ(files(), 1);
    EXPECT_NO_THROW(living.expectValid());
}

TEST_F(Leases, AChildDoesNotKeepItsDeadParentsPartition) {
    book().setPartitions(parsePartitions("A=100%"));
    Lease lease;
    pid_t orphan = 0;
    int told[2], blocked[2];
    ASSERT_EQ(pipe(told), 0);
    ASSERT_EQ(pipe(blocked), 0);
    Child parent([&] {
        lease = book().join("A", divide);
        const pid_t child = fork();
        if (child == 0) {
            // Lives until the test ends, and says so before its parent does.
            const pid_t self = getpid();
            if (write(told[1], &self, sizeof self) != sizeof self) _exit(1);
            close(blocked[1]);
            char byte = 0;
            _exit(static_cast<int>(read(blocked[0], &byte, 1)));
        }
    });
    ASSERT_TRUE(parent.ready());
    ASSERT_EQ(read(told[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));
    EXPECT_NE(refusal([&] { return book().join("A", divide); }).find("full"), std::string::npos);
    parent.end(SIGKILL);
    EXPECT_EQ(kill(orphan, 0), 0) << "the child has ended";
    EXPECT_EQ(refusal([&] { return book().join("A", divide); }), "joined");
    EXPECT_TRUE(book().occupancy().strangers.empty());
    for (const int end : {told[0], told[1], blocked[0], blocked[1]}) close(end);
}

TEST_F(Leases, ADeletedFolderLetsNobodyIntoTheWallsOfTheLiving) {
    book().setPartitions(parsePartitions("A=50%,B=50%"));
    Lease lease;
    Child tenant([&] { lease = book().join("A", divide); });
    ASSERT_TRUE(tenant.ready());
    LeaseBook impatient = book(std::chrono::milliseconds(100));
    for (const bool moved : {false, true}) {
        if (moved) {
            std::filesystem::rename(directory_ / "test", directory_ / "old");
        } else {
            std::filesystem::remove_all(directory_ / "test");
        }
        EXPECT_EQ(impatient.occupancy().strangers.size(), 1u);
        book().setPartitions(parsePartitions("A=100%"));
        const std::string why = refusal([&] { return impatient.join("A", divide); });
        EXPECT_NE(why.find(fmt::format("process {} of user {} is behind walls", tenant.process(), geteuid())),
                  std::string::npos)
            << why;
        EXPECT_EQ(impatient.occupancy().strangers.size(), 1u);
    }
    tenant.end(SIGKILL);
    EXPECT_EQ(refusal([&] { return impatient.join("A", divide); }), "joined");
}

TEST_F(Leases, FoldersOfARealGpuSeeEachOther) {
    const GpuIdentity card = {fmt::format("GPU-{}", getpid()), true};  // none that another test has
    const std::chrono::milliseconds patience(100);
    LeaseBook one(directory_ / "one", card, patience), other(directory_ / "other", card, patience);
    one.setPartitions(parsePartitions("A=50%,B=50%"));
    other.setPartitions(parsePartitions("A=50%,B=50%"));
    Lease lease = one.join("A", divide);
    const std::string why = refusal([&] { return other.join("B", divide); });
    EXPECT_NE(why.find(fmt::format("process {} of user {} is behind walls of {}", getpid(), geteuid(), card.name)),
              std::string::npos)
        << why;
    EXPECT_EQ(refusal([&] { return one.join("B", divide); }), "joined");
    lease.leave();
    EXPECT_EQ(refusal([&] { return other.join("B", divide); }), "joined");
}

TEST_F(Leases, FoldersOfASimulatedGpuHaveNothingToDoWithEachOther) {
    LeaseBook one(directory_ / "one", {"sim:test"}), other(directory_ / "other", {"sim:test"});
    one.setPartitions(parsePartitions("A=100%"));
    other.setPartitions(parsePartitions("A=100%"));
    const Lease lease = one.join("A", divide);
    EXPECT_EQ(refusal([&] { return other.join("A", divide); }), "joined");
}

/// Who was seen on each SM and color, by all processes of the soak test.
struct Scene {
    std::atomic<pid_t> ofSm[kSms], ofColor[kColors];
    std::atomic<unsigned> joins, refusals, violations;
};

void occupy(Scene& scene, const Share& share) {
    for (unsigned sm : share.sms) scene.ofSm[sm] = getpid();
    for (unsigned color : share.colors) scene.ofColor[color] = getpid();
}

bool undisturbed(const Scene& scene, const Share& share) {
    const auto mine = [](const std::atomic<pid_t>& who) { return who == getpid(); };
    return std::all_of(share.sms.begin(), share.sms.end(), [&](unsigned sm) { return mine(scene.ofSm[sm]); }) &&
           std::all_of(share.colors.begin(), share.colors.end(), [&](unsigned c) { return mine(scene.ofColor[c]); });
}

/// Joins and leaves until somebody kills it.
[[noreturn]] void dwell(const std::filesystem::path& folder, Scene& scene, unsigned seed) {
    std::mt19937 random(seed);
    const char* const plans[] = {"A=50%,B=50%", "A=25%,B=25%,C=25%,D=25%", "all=100%", "A=12.5%,B=37.5%,C=50%"};
    while (true) {
        const std::vector<Partition> partitions = parsePartitions(plans[random() % 4]);
        try {
            LeaseBook book(folder, {"test"});
            const Lease lease = book.join(divide(partitions).find(partitions[random() % partitions.size()].name));
            occupy(scene, lease.share());
            ++scene.joins;
            std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            if (!undisturbed(scene, lease.share())) ++scene.violations;
        } catch (const Error&) {
            ++scene.refusals;
        }
    }
}

TEST_F(Leases, AThousandJoinsAndCrashesLoseNothing) {
    void* shared = mmap(nullptr, sizeof(Scene), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(shared, MAP_FAILED);
    Scene& scene = *new (shared) Scene();
    constexpr unsigned kProcesses = 4, kJoins = 1000, kCrashes = 300;
    std::mt19937 random(7);
    std::vector<pid_t> running(kProcesses, 0);
    unsigned crashes = 0;
    while (scene.joins < kJoins || crashes < kCrashes) {
        pid_t& victim = running[random() % kProcesses];
        if (victim > 0) {
            kill(victim, SIGKILL);
            waitpid(victim, nullptr, 0);
            ++crashes;
        }
        const unsigned seed = random();
        victim = fork();
        ASSERT_GE(victim, 0);
        if (victim == 0) dwell(directory_.path(), scene, seed);
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 8000));
    }
    for (pid_t pid : running)
        if (pid > 0) {
            kill(pid, SIGKILL);
            waitpid(pid, nullptr, 0);
        }
    EXPECT_EQ(scene.violations, 0u);

    // Every SM and every color can be had again.
    EXPECT_TRUE(book().occupancy().holders.empty());
    std::set<unsigned> sms, colors;
    Bytes memory = 0;
    std::vector<Lease> leases;
    const Plan plan = divide(parsePartitions("A=25%,B=25%,C=25%,D=25%"));
    for (const Share& share : plan.shares) {
        leases.push_back(book().join(share));
        sms.insert(share.sms.begin(), share.sms.end());
        colors.insert(share.colors.begin(), share.colors.end());
        memory += share.memoryBytes;
    }
    EXPECT_EQ(sms.size(), kSms);
    EXPECT_EQ(colors.size(), kColors);
    EXPECT_EQ(memory, plan.topology.memoryBytes);
    munmap(shared, sizeof(Scene));
}

}  // namespace
}  // namespace bulkhead::isolate
