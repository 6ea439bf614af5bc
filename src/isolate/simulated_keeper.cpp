#include "isolate/simulated_keeper.h"

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "gpu/lent_gpu.h"
#include "isolate/divided_gpu.h"
#include "isolate/keeper.h"
#include "isolate/kept_gpu.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char *kGpuSocket = "gpu", *kGpuToKeep = "keeper.gpu";
constexpr std::chrono::seconds kToStart(20), kToEnd(30);

json toJson(const SimulatedGpu& gpu) {
    return {{"gpu", gpu.name}, {"settings", gpu.settings}, {"sharing", nameOf(gpu.sharing)}};
}
SimulatedGpu fromJson(const json& text) {
    return {text.value("gpu", ""), text.value("settings", std::vector<std::string>{}),
            parseKeptSharing(text.value("sharing", ""))};
}

far_driver::Place placeIn(const LeaseFolder& folder) {
    return {folder.path(), kGpuSocket};
}

std::string described(const SimulatedGpu& gpu) {
    return fmt::format("{}{}{} ({})", gpu.name, gpu.settings.empty() ? "" : " with ", fmt::join(gpu.settings, " "),
                       nameOf(gpu.sharing));
}

/// Its topology by timing, on a GPU of this process alone.
walls::Survey surveyOf(const SimulatedGpu& gpu) {
    gpu::SimulationOptions options;
    options.settings = gpu.settings;
    gpu::Gpu own = gpu::Gpu::open(gpu.name, options);
    walls::Survey survey;
    survey.topology = makeWalledGpu(own, walls::Coloring::none, "").topology();
    return survey;
}

}  // namespace

KeptSharing parseKeptSharing(std::string_view name) {
    if (name == "mps") return KeptSharing::mps;
    if (name == "time-slices") return KeptSharing::timeSlices;
    throw Error("--sharing {}: give mps or time-slices", name);
}

std::string_view nameOf(KeptSharing sharing) {
    return sharing == KeptSharing::mps ? "mps" : "time-slices";
}

void expectKeepable(gpu::Gpu& gpu, std::size_t partitions, const std::string& mapFile) {
    if (coloringFor(gpu, partitions, mapFile) != walls::Coloring::pages)
        throw Error("isolate: --sharing: memory walls of a shared simulated GPU are by pages: leave out --map");
}

void keepSimulated(const SimulatedGpu& gpu, const LeaseBook& book, const std::function<bool()>& ended) {
    const LeaseFolder folder = book.openFolder();
    const LeaseFolder::File lock = lockAsKeeper(folder);
    const auto about = [&](const gpu::LentUse& use) {
        json told = toJson(gpu);
        told["processes"] = use.processes;
        told["bytes"] = use.bytes;
        told["free_bytes"] = use.freeBytes;
        return told.dump();
    };
    gpu::lend({gpu.name, gpu.settings, gpu.sharing == KeptSharing::mps, folder.forSeveral()}, placeIn(folder), about,
              ended);
}

std::optional<SimulatedKeeper> keeperOf(const LeaseBook& book) {
    const std::optional<LeaseFolder> folder = book.findFolder();
    if (!folder) return std::nullopt;
    const std::optional<far_driver::Keeper> keeper = far_driver::ask(placeIn(*folder));
    if (!keeper) return std::nullopt;
    if (keeper->user != folder->owner() && keeper->user != 0)
        throw Error("{}: process {} of user {} listens there, and is nobody's keeper",
                    (folder->path() / kGpuSocket).string(), keeper->process, keeper->user);
    const json about = json::parse(keeper->about);
    return SimulatedKeeper{keeper->process, fromJson(about), about.value("processes", std::size_t{0}),
                           about.value("bytes", Bytes{0}), about.value("free_bytes", Bytes{0})};
}

std::optional<SimulatedGpu> gpuToKeep(const LeaseBook& book) {
    constexpr std::size_t kMost = 1 << 16;
    const std::optional<LeaseFolder> folder = book.findFolder();
    if (!folder) return std::nullopt;
    const std::optional<LeaseFolder::File> file = folder->openOwners(kGpuToKeep);
    if (!file) return std::nullopt;
    try {
        return fromJson(json::parse(folder->read(*file, kGpuToKeep, kMost)));
    } catch (const std::exception&) {
        throw Error("{}: damaged: set the partitions again", (folder->path() / kGpuToKeep).string());
    }
}

void startKeeping(const SimulatedGpu& gpu, const LeaseBook& book, const std::vector<std::string>& command) {
    const LeaseFolder folder = book.openFolder();
    const std::optional<SimulatedKeeper> keeper = keeperOf(book);
    if (keeper && toJson(keeper->gpu) != toJson(gpu))
        throw Error("isolate: process {} keeps {}: end it with isolate clear", keeper->process, described(keeper->gpu));
    folder.replace(kGpuToKeep, toJson(gpu).dump());
    if (keeper) return;
    const std::string log = (folder.path() / "keeper.log").string();
    startApart(command, log);
    const auto latest = Clock::now() + kToStart;
    while (!keeperOf(book)) {
        if (Clock::now() > latest) throw Error("no keeper of {} has started: see {}", gpu.name, log);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
}

void endKeeping(const LeaseBook& book) {
    const std::optional<LeaseFolder> folder = book.findFolder();
    if (!folder) return;
    if (gpuToKeep(book)) folder->remove(kGpuToKeep);
    if (!keeperOf(book)) return;
    far_driver::end(placeIn(*folder));
    const auto latest = Clock::now() + kToEnd;
    while (Keeper::isKept(*folder) && Clock::now() < latest) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

std::optional<OpenedGpu> openKept(const LeaseBook& book, const std::vector<std::string>& settings) {
    const std::optional<SimulatedGpu> wanted = gpuToKeep(book);
    if (!wanted) return std::nullopt;
    const std::optional<SimulatedKeeper> keeper = keeperOf(book);
    if (!keeper) throw Error("the keeper of {} is gone: isolate run starts another", wanted->name);
    if (!settings.empty() && settings != keeper->gpu.settings)
        throw Error("process {} keeps {}, which a program cannot have with {}", keeper->process, described(keeper->gpu),
                    fmt::join(settings, " "));
    walls::Survey survey = surveyOf(keeper->gpu);
    std::optional<gpu::Gpu> gpu =
        gpu::Gpu::openKept(keeper->gpu.name, keeper->gpu.settings, placeIn(*book.findFolder()));
    if (!gpu) throw Error("the keeper of {} is gone: isolate run starts another", wanted->name);
    return OpenedGpu{std::move(*gpu), std::move(survey)};
}

}  // namespace bulkhead::isolate
