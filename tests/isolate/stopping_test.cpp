#include "isolate/stopping.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/files.h"
#include "temporary_directory.h"

namespace bulkhead::isolate {
namespace {

std::filesystem::path noted;

/// A process that holds a share, and notes when it is told to end.
class Tenant {
  public:
    Tenant(const LeaseBook& book, const std::string& name, unsigned sm, bool obeys) {
        int ends[2];
        if (pipe(ends) != 0) std::abort();
        process_ = fork();
        if (process_ == 0) {
            LeaseBook own = book;
            const Lease lease = own.join({{name, 0.5, 0.5, 1}, {sm}, {sm}, 1 << 20});
            if (obeys) {
                signal(SIGTERM, [](int) {
                    std::ofstream(noted, std::ios::app) << "told to end\n";
                    _exit(0);
                });
            } else {
                signal(SIGTERM, SIG_IGN);
            }
            if (write(ends[1], "x", 1) != 1) _exit(1);
            while (true) pause();
        }
        char byte = 0;
        EXPECT_EQ(read(ends[0], &byte, 1), 1);
        close(ends[0]);
        close(ends[1]);
    }
    ~Tenant() {
        kill(process_, SIGKILL);
        waitpid(process_, nullptr, 0);
    }
    bool alive() const { return waitpid(process_, nullptr, WNOHANG) == 0; }
    pid_t process() const { return process_; }

  private:
    pid_t process_;
};

class Stopping : public testing::Test {
  protected:
    void SetUp() override { noted = folder_ / "noted"; }
    TemporaryDirectory folder_;
};

TEST_F(Stopping, EndsWhoeverIsInThatPartitionAndNobodyElse) {
    const LeaseBook book(folder_ / "leases", {"test"});
    Tenant obedient(book, "A", 0, true), other(book, "B", 1, true);
    const std::vector<Holder> stopped = stopHolders(book, "A");
    ASSERT_EQ(stopped.size(), 1u);
    EXPECT_EQ(stopped[0].process, obedient.process());
    EXPECT_FALSE(obedient.alive());
    EXPECT_TRUE(other.alive());
    EXPECT_EQ(readFile(noted), "told to end\n");
    EXPECT_THROW(stopHolders(book, "A"), Error);
}

TEST_F(Stopping, WhoWasStoppedHasNotAbandonedItsPlaceAndWhoWasKilledHas) {
    const LeaseBook book(folder_ / "leases", {"test"});
    EXPECT_FALSE(LeaseBook::hasAbandoned(folder_ / "leases"));
    {
        const Tenant stopped(book, "A", 0, true), other(book, "B", 1, true);
        EXPECT_FALSE(LeaseBook::hasAbandoned(folder_ / "leases"));
        stopHolders(book, "A");
        EXPECT_FALSE(LeaseBook::hasAbandoned(folder_ / "leases"));
    }
    EXPECT_TRUE(LeaseBook::hasAbandoned(folder_ / "leases"));  // the other one was killed
    const Tenant next(book, "A", 0, true);
    EXPECT_FALSE(LeaseBook::hasAbandoned(folder_ / "leases"));
}

TEST_F(Stopping, EndsWhoDoesNotObey) {
    const LeaseBook book(folder_ / "leases", {"test"});
    Tenant stubborn(book, "A", 0, false);
    EXPECT_EQ(stopHolders(book, "A").size(), 1u);
    EXPECT_TRUE(book.occupancy().holders.empty());
}

/// A script stands in for NVIDIA's control program.
TEST_F(Stopping, TakesAClientsWorkFromTheMpsServerBeforeItEndsTheClient) {
    const LeaseBook book(folder_ / "leases", {"test-of-stopping-" + std::to_string(getpid()), true});
    Tenant client(book, "A", 0, true);
    const std::filesystem::path program = folder_ / "nvidia-cuda-mps-control";
    std::ofstream(program) << "#!/bin/sh\nread -r what rest\ncase $what in\nget_server_list) echo 4711;;\n"
                              "get_server_status) echo ACTIVE;;\nget_client_list) echo "
                           << client.process() << ";;\nterminate_client) echo \"terminated $rest\" >> '"
                           << noted.string() << "';;\nesac\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    std::ofstream(folder_ / "control") << "";
    const std::string path = std::getenv("PATH");
    setenv("PATH", (folder_.path().string() + ":" + path).c_str(), 1);
    setenv("CUDA_MPS_PIPE_DIRECTORY", folder_.path().c_str(), 1);
    EXPECT_EQ(stopHolders(book, "A").size(), 1u);
    setenv("PATH", path.c_str(), 1);
    unsetenv("CUDA_MPS_PIPE_DIRECTORY");
    EXPECT_EQ(readFile(noted), "terminated 4711 " + std::to_string(client.process()) + "\ntold to end\n");
}

}  // namespace
}  // namespace bulkhead::isolate
