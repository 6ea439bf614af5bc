#include "experiment/mps_daemon.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "base/error.h"
#include "base/scratch_folder.h"
#include "experiment/interruption.h"

namespace bulkhead::experiment {
namespace {

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr const char* kFolder = "bulkhead-mps-";
constexpr double kStartSeconds = 15, kQuitSeconds = 25;
constexpr std::chrono::milliseconds kStartOfAProcess{200};

/// Ends the daemon of a folder ($0) and whatever servers it has, and removes the folder. A daemon that was killed can
/// no longer be told to quit, and its server stays: they are known by the folder in their environment.
constexpr const char* kEnd = R"sh(
ours() {
    for file in $(grep -lzxF "CUDA_MPS_PIPE_DIRECTORY=$0/pipe" /proc/[0-9]*/environ 2> /dev/null); do
        process=${file%/environ}
        read -r name 2> /dev/null < "$process/comm" || continue
        case $name in nvidia-cuda-mps*) echo "${process#/proc/}" ;; esac
    done
}
end() {
    (echo quit | nvidia-cuda-mps-control) > /dev/null 2>&1 &
    n=0
    while left=$(ours) && [ -n "$left" ]; do
        if [ $n -ge 100 ] || ! lives; then kill -KILL $left 2> /dev/null; fi
        sleep 0.1
        n=$((n + 1))
    done
    rm -rf -- "$0"
}
lives() { [ -z "$daemon" ] || ours | grep -qx "$daemon"; }
)sh";

/// Starts the daemon, says so, and waits until the daemon ends or its own input does, which is when we do, in whatever
/// way.
constexpr const char* kGuard = R"sh(
exec 9< "$0/owner"
flock -s 9
nvidia-cuda-mps-control -f < /dev/null > /dev/null 2>&1 9<&- &
daemon=$!
trap '' HUP INT TERM
n=0
while kill -0 $daemon 2> /dev/null && [ ! -e "$0/pipe/control" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
if [ -e "$0/pipe/control" ] && lives; then
    exec 3<&0
    cat <&3 > /dev/null 9<&- &
    input=$!
    (
        while read -r _ _ state _ < /proc/$daemon/stat && [ "$state" != Z ]; do
            read -r _ _ _ parent _ < /proc/self/stat
            [ "$parent" = $$ ] || exit
            sleep 0.2
        done
        kill -KILL $input
    ) < /dev/null > /dev/null 2>&1 9<&- &
    watcher=$!
    echo ready
    wait $input 2> /dev/null
    kill -KILL $watcher 2> /dev/null
fi
end
)sh";

/// A file that whoever answers for a daemon holds locked: its guard, and the process that started it.
class Owner {
  public:
    explicit Owner(const std::filesystem::path& folder, int more = 0)
        : file_(open((folder / "owner").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | more, 0600)) {}
    ~Owner() {
        if (file_ >= 0) close(file_);
    }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    bool lock(int how) const { return file_ >= 0 && flock(file_, how) == 0; }
    /// Since it was made, which is a moment before it is locked.
    bool isOld() const {
        struct stat status = {};
        constexpr std::time_t kMomentSeconds = 10;
        return fstat(file_, &status) == 0 && status.st_uid == geteuid() &&
               std::time(nullptr) - status.st_mtime > kMomentSeconds;
    }

  private:
    const int file_;
};

ChildProcess::Environment environmentIn(const std::filesystem::path& folder) {
    return {{"CUDA_MPS_PIPE_DIRECTORY", (folder / "pipe").string()},
            {"CUDA_MPS_LOG_DIRECTORY", (folder / "log").string()}};
}

void endDaemonOf(const std::filesystem::path& folder) {
    ChildProcess(std::vector<std::string>{"/bin/sh", "-c", std::string(kEnd) + "end", folder.string()},
                 environmentIn(folder), ChildProcess::Says::nothing)
        .wait(kQuitSeconds);
}

/// Those whose guard was killed, and who started them too.
void endAbandonedDaemons() {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::temp_directory_path(), failed)) {
        const std::filesystem::path& folder = entry.path();
        if (!folder.filename().string().starts_with(kFolder) || entry.is_symlink(failed)) continue;
        const Owner owner(folder);
        if (owner.lock(LOCK_EX | LOCK_NB) && owner.isOld()) endDaemonOf(folder);
    }
}

}  // namespace

MpsDaemon::MpsDaemon() {
    endAbandonedDaemons();
    folder_ = makeScratchFolder("mps");
    std::filesystem::create_directory(folder_ / "log");
    std::filesystem::create_directory(folder_ / "pipe");
    const auto owner = std::make_shared<Owner>(folder_, O_CREAT | O_EXCL);
    if (!owner->lock(LOCK_SH)) throw Error("cannot create a folder for the MPS daemon");
    owner_ = owner;
    guard_ = std::make_unique<ChildProcess>(
        std::vector<std::string>{"/bin/sh", "-c", std::string(kEnd) + kGuard, folder_.string()}, environment(),
        ChildProcess::Says::all, ChildProcess::Dies::whenItsInputEnds);
    try {
        guard_->readLine(kStartSeconds);
    } catch (...) {
        end();
        throwIfInterrupted();
        throw Error("cannot start the MPS daemon: {} -f", kControl);
    }
}

MpsDaemon::~MpsDaemon() {
    end();
}

void MpsDaemon::throwIfEnded() const {
    if (guard_->ended()) throw Error("the MPS daemon of this run was stopped by another program");
}

void MpsDaemon::end() {
    if (guard_->wait(kQuitSeconds) == 0) return;
    // Somebody killed the guard, perhaps before what it had just started became the daemon.
    std::this_thread::sleep_for(kStartOfAProcess);
    endDaemonOf(folder_);
}

ChildProcess::Environment MpsDaemon::environment() const {
    return environmentIn(folder_);
}

}  // namespace bulkhead::experiment
