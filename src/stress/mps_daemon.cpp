#include "stress/mps_daemon.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.h"
#include "stress/waiting.h"

namespace bulkhead::stress {
namespace {

constexpr const char* kControl = "nvidia-cuda-mps-control";
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
nvidia-cuda-mps-control -f < /dev/null > /dev/null 2>&1 &
daemon=$!
trap '' HUP INT TERM
n=0
while kill -0 $daemon 2> /dev/null && [ ! -e "$0/pipe/control" ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done
if [ -e "$0/pipe/control" ] && lives; then
    trap : USR1
    exec 3<&0
    (cat <&3; read -r _ _ _ parent _ < /proc/self/stat; [ "$parent" != $$ ] || kill -USR1 $$) > /dev/null &
    echo ready
    wait $daemon 2> /dev/null
fi
end
)sh";

}  // namespace

MpsDaemon::MpsDaemon() {
    std::string name = (std::filesystem::temp_directory_path() / "bulkhead-mps-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("cannot make a folder for the MPS daemon");
    folder_ = name;
    std::filesystem::create_directory(folder_ / "log");
    std::filesystem::create_directory(folder_ / "pipe");
    guard_ = std::make_unique<ChildProcess>(std::vector<std::string>{"/bin/sh", "-c", std::string(kEnd) + kGuard, name},
                                            environment(), false, ChildProcess::Dies::whenItsInputEnds);
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
    if (guard_->ended()) throw Error("the MPS daemon of this run was ended by somebody");
}

void MpsDaemon::end() {
    if (guard_->wait(kQuitSeconds) == 0) return;
    // Somebody killed the guard, perhaps before what it had just started became the daemon.
    std::this_thread::sleep_for(kStartOfAProcess);
    ChildProcess(std::vector<std::string>{"/bin/sh", "-c", std::string(kEnd) + "end", folder_.string()}, environment(),
                 true)
        .wait(kQuitSeconds);
}

ChildProcess::Environment MpsDaemon::environment() const {
    return {{"CUDA_MPS_PIPE_DIRECTORY", (folder_ / "pipe").string()},
            {"CUDA_MPS_LOG_DIRECTORY", (folder_ / "log").string()}};
}

}  // namespace bulkhead::stress
