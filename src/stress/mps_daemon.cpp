#include "stress/mps_daemon.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.h"

namespace bulkhead::stress {
namespace {

constexpr const char* kControl = "nvidia-cuda-mps-control";
constexpr double kStartSeconds = 10, kQuitSeconds = 10;

}  // namespace

MpsDaemon::MpsDaemon() {
    std::string name = (std::filesystem::temp_directory_path() / "bulkhead-mps-XXXXXX").string();
    if (!mkdtemp(name.data())) throw Error("cannot make a folder for the MPS daemon");
    folder_ = name;
    std::filesystem::create_directory(folder_ / "log");
    std::filesystem::create_directory(folder_ / "pipe");
    // In the foreground it is our child, and goes when we do.
    control_ = std::make_unique<ChildProcess>(std::vector<std::string>{kControl, "-f"}, environment(), true);
    for (int i = 0; i < static_cast<int>(kStartSeconds * 10); ++i) {
        if (control_->ended()) break;
        if (std::filesystem::exists(folder_ / "pipe" / "control")) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    control_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    throw Error("cannot start the MPS daemon: {} -f", kControl);
}

MpsDaemon::~MpsDaemon() {
    try {
        ChildProcess quit({kControl}, environment(), true);
        quit.writeLine("quit");
        quit.wait(kQuitSeconds);
    } catch (const std::exception&) {
        // The daemon is told again, by a signal.
    }
    control_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

ChildProcess::Environment MpsDaemon::environment() const {
    return {{"CUDA_MPS_PIPE_DIRECTORY", (folder_ / "pipe").string()},
            {"CUDA_MPS_LOG_DIRECTORY", (folder_ / "log").string()}};
}

}  // namespace bulkhead::stress
