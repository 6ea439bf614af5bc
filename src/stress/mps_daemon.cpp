#include "stress/mps_daemon.h"

#include <cstdlib>

#include "base/error.h"

namespace bulkhead::stress {
namespace {

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr double kStartSeconds = 15, kQuitSeconds = 25;

/// Starts the daemon, says so, and waits until its own input ends, which is when we do, in whatever way. Then it ends
/// the daemon and removes the folder ($0).
constexpr const char* kGuard = R"(
tenths() { n=0; until "$@"; do [ $n -lt 100 ] || return 1; sleep 0.1; n=$((n + 1)); done; }
ended() { ! kill -0 "$daemon" 2> /dev/null; }
ready() { [ -e "$0/pipe/control" ] || ended; }
nvidia-cuda-mps-control -f < /dev/null > /dev/null 2>&1 &
daemon=$!
trap '' HUP INT TERM
tenths ready
if [ -e "$0/pipe/control" ] && ! ended; then echo ready; cat > /dev/null; fi
(echo quit | nvidia-cuda-mps-control) > /dev/null 2>&1 &
tenths ended || kill -KILL "$daemon"
rm -rf -- "$0"
)";

}  // namespace

MpsDaemon::MpsDaemon() {
    std::string name = (std::filesystem::temp_directory_path() / "bulkhead-mps-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("cannot make a folder for the MPS daemon");
    folder_ = name;
    std::filesystem::create_directory(folder_ / "log");
    std::filesystem::create_directory(folder_ / "pipe");
    guard_ = std::make_unique<ChildProcess>(std::vector<std::string>{"/bin/sh", "-c", kGuard, name}, environment(),
                                            false, ChildProcess::Dies::whenItsInputEnds);
    try {
        guard_->readLine(kStartSeconds);
    } catch (const Error&) {
        throw Error("cannot start the MPS daemon: {} -f", kControl);
    }
}

MpsDaemon::~MpsDaemon() {
    guard_->wait(kQuitSeconds);
}

ChildProcess::Environment MpsDaemon::environment() const {
    return {{"CUDA_MPS_PIPE_DIRECTORY", (folder_ / "pipe").string()},
            {"CUDA_MPS_LOG_DIRECTORY", (folder_ / "log").string()}};
}

}  // namespace bulkhead::stress
