#include "isolate/kept_gpu.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <thread>

#include "base/error.h"
#include "base/parity.h"
#include "dissect/map_file.h"
#include "gpu/real_driver.h"
#include "isolate/keeper.h"
#include "walls/green_place.h"
#include "walls/page_pool.h"
#include "walls/sight.h"
#include "walls/slice_layout.h"
#include "walls/slice_sight.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience(30), kStart(20);
constexpr unsigned kMostPages = 16;  // of a block: 32 MB
constexpr std::size_t kLeastOfKind = 8;
constexpr int kByFile = 1;

std::optional<Channel> channelTo(const LeaseBook& book) {
    const std::optional<LeaseFolder> folder = book.findFolder();
    if (!folder) return std::nullopt;
    std::optional<Channel> channel = Channel::connect(folder->path(), Keeper::kSocket);
    if (!channel) return std::nullopt;
    const Channel::Peer peer = channel->peer();
    if (peer.user != folder->owner() && peer.user != 0)
        throw Error("{}: process {} of user {} listens there, and is nobody's keeper",
                    (folder->path() / Keeper::kSocket).string(), peer.process, peer.user);
    return channel;
}

Channel::Message askOf(const Channel& channel, const json& request) {
    channel.send(request);
    std::optional<Channel::Message> message = channel.receive(kPatience);
    if (!message) throw Error("the keeper of the GPU is gone: start the program again");
    if (message->body.contains("error"))
        throw Error("the keeper of the GPU: {}", printable(message->body["error"].get<std::string>()));
    return std::move(*message);
}

/// Some on either side, all over memory, by what is known of its pages.
std::array<std::vector<std::uint64_t>, 2> addressesOnSides(driver::CUdeviceptr base,
                                                           const std::vector<bool>& sideOfPage, dissect::Mask inPage) {
    constexpr std::size_t kEach = 32;
    std::array<std::vector<std::uint64_t>, 2> found;
    for (std::size_t i = 0; i < kEach; ++i) {
        const std::size_t page = i * sideOfPage.size() / kEach;
        for (std::uint64_t offset = 0; offset < dissect::kPageBytes; offset += dissect::kPageBytes / 4) {
            const bool side = sideOfPage[page] != parity(offset & inPage);
            found.at(side ? 1 : 0).push_back(base + page * dissect::kPageBytes + offset);
        }
    }
    return found;
}

constexpr std::size_t kSamplesOfBlock = 32;
constexpr double kNever = std::numeric_limits<double>::max();

/// The side of a block from times of addresses in it, equally far apart, from SMs of one side: memory that is near if
/// the kind is 0 is far if it is 1. Empty where that cannot be told. What disturbs times makes them longer.
std::optional<dissect::PageLabel> labelFrom(std::span<const std::uint32_t> times, const walls::SideRow& row,
                                            unsigned near) {
    constexpr double kNearer = 1.15;  // an H200's other side is 1.5 times as far
    const Bytes stride = row.blockBytes() / kSamplesOfBlock;
    std::array<double, 2> least = {kNever, kNever};
    for (std::size_t i = 0; i < times.size(); ++i) {
        double& ofSide = least.at(parity(i * stride & row.mask & (row.blockBytes() - 1)) ? 1 : 0);
        ofSide = std::min(ofSide, static_cast<double>(times[i]));
    }
    if (least[0] == kNever || least[1] == kNever) return std::nullopt;
    if (least.at(1 - near) > kNearer * least.at(near)) return dissect::PageLabel{0};
    if (least.at(near) > kNearer * least.at(1 - near)) return dissect::PageLabel{1};
    return std::nullopt;
}

json labelsJson(std::span<const std::optional<dissect::PageLabel>> labels) {
    json list = json::array();
    for (const auto& label : labels) list.push_back(label ? walls::labelJson(*label) : json());
    return list;
}

/// Every tenant relies on them, so they are tried before they are believed: a group that was taken for one of the other
/// side would put its programs' copies of lines where the neighbour's are.
std::vector<dissect::L2Region> regionsOfGroups(gpu::Gpu& gpu, const walls::Sight& sight,
                                               const std::array<std::vector<std::uint64_t>, 2>& onSide) {
    constexpr int kAttempts = 5;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const walls::GreenGroups groups(gpu, sight.topology(), sight.sides(), sight.regions());
        if (groups.regions().empty()) return {};
        if (groups.agree(onSide)) return groups.regions();
    }
    throw Error("{} is too busy to measure where its groups of SMs are: set partitions while no other program runs",
                gpu.name());
}

/// What went wrong once may go right.
walls::SliceSight::Blocks slicesOfBlocks(gpu::Gpu& gpu, walls::Sight& sight, const dissect::MapFile& map,
                                         const walls::PagePool& pool,
                                         const std::vector<std::optional<dissect::PageLabel>>& sides, bool named) {
    constexpr int kAttempts = 3;
    std::vector<bool> usable(sides.size());
    std::transform(sides.begin(), sides.end(), usable.begin(), [](const auto& side) { return side.has_value(); });
    for (int attempt = 1;; ++attempt) {
        try {
            walls::SliceSight slices(gpu, sight, map, pool.base(), pool.bytes());
            if (named && !slices.map().named) throw Error("{}", walls::kUnnamedSlices);
            return slices.blocks(static_cast<unsigned>(pool.blockBytes() / dissect::kPageBytes), usable);
        } catch (const Error&) {
            if (attempt == kAttempts) throw;
        }
    }
}

}  // namespace

void startApart(const std::vector<std::string>& command, const std::string& log) {
    std::vector<char*> words;
    words.reserve(command.size() + 1);
    for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw Error("cannot start a keeper: no more processes");
    if (child == 0) {
        ::setsid();
        const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
        const int said = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
        ::dup2(nothing, STDIN_FILENO);
        ::dup2(nothing, STDOUT_FILENO);
        ::dup2(said >= 0 ? said : nothing, STDERR_FILENO);
        // Nobody waits for it: it is init's child.
        if (::fork() != 0) ::_exit(0);
        ::execvp(words.front(), words.data());
        ::_exit(127);
    }
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

KeptGpu::KeptGpu(gpu::Gpu& gpu, const LeaseBook& book, Channel channel)
    : gpu_(gpu), book_(book), channel_(std::move(channel)) {
    readState(ask({{"do", "state"}}).body);
}

bool KeptGpu::isReady(const LeaseBook& book) {
    const std::optional<Channel> channel = channelTo(book);
    return channel && !askOf(*channel, {{"do", "state"}}).body.value("survey", json()).is_null();
}

std::optional<KeptState> KeptGpu::stateOf(const LeaseBook& book) {
    const std::optional<Channel> channel = channelTo(book);
    if (!channel) return std::nullopt;
    const json state = askOf(*channel, {{"do", "state"}}).body;
    const Bytes block = state.value("block_bytes", Bytes{0}), all = state.value("all_bytes", Bytes{0});
    return KeptState{state.value("process", pid_t{0}), all, state.value("released_bytes", Bytes{0}),
                     state.value("unknown", std::size_t{0}) * block};
}

std::shared_ptr<KeptGpu> KeptGpu::find(gpu::Gpu& gpu, const LeaseBook& book) {
    std::optional<Channel> channel = channelTo(book);
    return channel ? std::shared_ptr<KeptGpu>(new KeptGpu(gpu, book, std::move(*channel))) : nullptr;
}

std::shared_ptr<KeptGpu> KeptGpu::start(gpu::Gpu& gpu, const LeaseBook& book, const std::vector<std::string>& command) {
    if (auto kept = find(gpu, book)) return kept;
    const std::string log = (book.openFolder().path() / "keeper.log").string();
    startApart(command, log);
    const auto end = Clock::now() + kStart;
    while (Clock::now() < end) {
        if (auto kept = find(gpu, book)) return kept;
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    throw Error("no keeper of {} has started: see {}", gpu.name(), log);
}

Channel::Message KeptGpu::ask(const json& request) const {
    return askOf(channel_, request);
}

void KeptGpu::readState(const json& state) {
    survey_.reset();
    remembers_ = !state.value("remembered", json()).is_null();
    if (state.contains("survey") && !state["survey"].is_null())
        survey_ = walls::Survey::fromJson(state["survey"], "the keeper's survey");
    bytes_ = state.value("bytes", Bytes{0});
    allBytes_ = state.value("all_bytes", Bytes{0});
    blocks_ = state.value("blocks", std::size_t{0});
    unknown_ = state.value("unknown", std::size_t{0});
}

driver::CUmemGenericAllocationHandle KeptGpu::import(const OwnDescriptor& file) const {
    driver::CUmemGenericAllocationHandle handle = 0;
    gpu::check(gpu_.api(),
               gpu_.api().cuMemImportFromShareableHandle(
                   &handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(file.get())), kByFile),
               "cannot use memory that a keeper has");
    return handle;
}

std::vector<driver::CUmemGenericAllocationHandle> KeptGpu::importAll(const char* request, std::size_t count) const {
    std::vector<driver::CUmemGenericAllocationHandle> handles;
    while (handles.size() < count) {
        const Channel::Message shown = ask({{"do", request}, {"first", handles.size()}});
        if (shown.files.empty()) throw Error("the keeper of {} has lost memory", gpu_.name());
        for (const OwnDescriptor& file : shown.files) handles.push_back(import(file));
    }
    return handles;
}

void KeptGpu::label(const std::vector<std::optional<dissect::PageLabel>>& labels) const {
    constexpr std::size_t kTogether = 4096;  // of a message
    for (std::size_t first = 0; first < labels.size(); first += kTogether)
        ask({{"do", "label"},
             {"first", first},
             {"labels", labelsJson(std::span(labels).subspan(first, std::min(kTogether, labels.size() - first)))}});
}

Bytes KeptGpu::freeBytes() const {
    std::size_t free = 0, total = 0;
    gpu_.context().makeCurrent();
    gpu::check(gpu_.api(), gpu_.api().cuMemGetInfo(&free, &total), "cannot tell how much memory is free");
    return free;
}

/// What programs had that have just ended comes back little by little.
Bytes KeptGpu::steadyFreeBytes() const {
    if (gpu_.capabilities().deterministic) return freeBytes();
    constexpr std::chrono::milliseconds kPause(100);
    constexpr int kSteady = 3, kMost = 150;
    Bytes free = freeBytes();
    for (int look = 0, steady = 0; look < kMost && steady < kSteady; ++look) {
        std::this_thread::sleep_for(kPause);
        const Bytes now = freeBytes();
        steady = now == free ? steady + 1 : 0;
        free = now;
    }
    return free;
}

/// Has the keeper give back what it holds, and take up to so many bytes, or all but the reserve, once they are free.
void KeptGpu::takeAnew(unsigned pagesPerBlock, walls::PagesLeftOut leaveOut, Bytes reserve, Bytes most) {
    ask({{"do", "make"}, {"pages_per_block", kMostPages}, {"skip", 0}, {"skip_after", 0}, {"bytes", 0}});
    const Bytes free = steadyFreeBytes();
    const Bytes wanted = std::min(free > reserve ? free - reserve : 0, most);
    readState(ask({{"do", "make"},
                   {"pages_per_block", pagesPerBlock},
                   {"skip", leaveOut.pages},
                   {"skip_after", leaveOut.after},
                   {"skip_together", leaveOut.together},
                   {"bytes", wanted}})
                  .body);
}

/// How many pages to leave out before blocks of most pages, by the first pages that the driver gives. There are few of
/// them: where it has just had much back, it gives that in another order each time.
walls::PagesLeftOut KeptGpu::firstLeftOut(walls::Sight& sight, Bytes reserve) {
    constexpr Bytes kFirstPages = 128;
    takeAnew(1, {}, reserve, kFirstPages * dissect::kPageBytes);
    if (blocks_ < 2) return {};
    walls::PagePool pool(gpu_, walls::PagePool::Blocks{dissect::kPageBytes, blocks_ * dissect::kPageBytes});
    pool.append(importAll("show", blocks_));
    pool.clear();
    const dissect::Mask inPage = sight.sideMask(pool.base());
    const auto seen = walls::seeBlocks(inPage, sight.sidesOfPages(pool.base(), pool.pages(), inPage), kMostPages);
    return {0, seen ? seen->leaveOut.pages : 0};
}

/// Beside tenants of an earlier keeper nothing can be timed, and what that one knew is still true.
bool KeptGpu::recall(Bytes reserve, const dissect::MapFile* map) {
    if (survey_ || !remembers_ || map != nullptr || book_.occupancy().holders.empty()) return false;
    const Bytes free = freeBytes();
    const json state = ask({{"do", "state"}}).body;
    const walls::Survey known = walls::Survey::fromJson(state.at("remembered"), "a keeper's survey");
    if (known.slices) return false;
    ask({{"do", "make"},
         {"pages_per_block", known.row.pagesPerBlock},
         {"skip", state.at("remembered_skip")},
         {"skip_after", state.at("remembered_skip_after")},
         {"skip_together", state.at("remembered_skip_together")},
         {"bytes", free > reserve ? free - reserve : 0}});
    readState(ask({{"do", "recall"}}).body);
    return true;
}

void KeptGpu::look(Bytes reserve, const dissect::MapFile* map) {
    if (survey_ && survey_->slices.has_value() == (map != nullptr) && (unknown_ == 0 || map == nullptr)) return;
    if (recall(reserve, map)) return;
    if (map != nullptr && !map->form)
        throw Error("colors by slice need a map that dissect found without physical addresses");
    walls::Sight sight(gpu_);
    walls::Survey survey;
    survey.topology = sight.topology();
    if (!sight.sides()) throw Error("the L2 of {} has one side: its memory is kept by nobody", gpu_.name());
    unsigned pages = kMostPages;
    walls::PagesLeftOut leaveOut = firstLeftOut(sight, reserve);
    std::optional<dissect::Mask> inPage;
    // The largest blocks whose pages lie as a parity says. Some pages may have to be left out, so that they begin where
    // its blocks do.
    for (int attempt = 0; attempt < 10; ++attempt) {
        takeAnew(pages, leaveOut, reserve);
        const Bytes blockBytes = pages * dissect::kPageBytes;
        if (blocks_ < 2)
            throw Error("{} has {} MB of memory free: too little for walls", gpu_.name(), freeBytes() >> 20);
        // Blocks of a kind that run out end everybody's row.
        if (map != nullptr && pages > 1 && blocks_ < kLeastOfKind * walls::SliceLayout::kinds(*map->form)) {
            pages /= 2;
            leaveOut = {};
            continue;
        }
        walls::PagePool pool(gpu_, walls::PagePool::Blocks{blockBytes, blocks_ * blockBytes});
        pool.append(importAll("show", blocks_));
        pool.clear();
        if (!inPage) inPage = sight.sideMask(pool.base());
        const std::vector<bool> sides = sight.sidesOfPages(pool.base(), pool.pages(), *inPage);
        const auto seen = walls::seeBlocks(*inPage, sides, pages);
        if (!seen) {
            pages /= 2;
            leaveOut = {};
            continue;
        }
        if (seen->leaveOut.pages != 0) {
            leaveOut = walls::leaveOutMore(leaveOut, seen->leaveOut, pages);
            continue;
        }
        survey.regionOfGroup = regionsOfGroups(gpu_, sight, addressesOnSides(pool.base(), sides, *inPage));
        survey.row = seen->row;
        std::vector<std::optional<dissect::PageLabel>> labels;
        for (const std::uint8_t kind : seen->kinds)
            labels.push_back(kind == walls::SeenBlocks::kOdd ? std::nullopt : std::optional(dissect::PageLabel{kind}));
        if (map != nullptr) {
            // Tenants of an earlier keeper number slices as that one did.
            const bool named = !book_.occupancy().holders.empty();
            walls::SliceSight::Blocks blocks = slicesOfBlocks(gpu_, sight, *map, pool, labels, named);
            survey.slices = std::move(blocks.survey);
            labels = std::move(blocks.labels);
        }
        pool.clear();
        label(labels);
        readState(ask({{"do", "settle"}, {"survey", survey.toJson()}}).body);
        return;
    }
    throw Error(
        "the memory of {} lies in no order that walls could use: what programs had that have ended is in between, "
        "so set partitions again, after a restart of the MPS daemon if need be",
        gpu_.name());
}

void KeptGpu::release() const {
    ask({{"do", "release"}});
}

bool KeptGpu::lookAtUnknown(const walls::SmSet& own) {
    if (unknown_ == 0 || !survey_ || survey_->slices) return false;
    walls::GreenGroups groups(gpu_, survey_->topology, survey_->regionOfGroup);
    const auto place = groups.place(own);
    if (!place) return false;
    const auto first = static_cast<std::size_t>(std::find(own.begin(), own.end(), true) - own.begin());
    const Bytes blockBytes = survey_->row.blockBytes();
    walls::PagePool pool(gpu_, walls::PagePool::Blocks{blockBytes, unknown_ * blockBytes});
    pool.append(importAll("show unknown", unknown_));
    std::vector<std::uint64_t> addresses;
    for (Bytes at = 0; at < pool.bytes(); at += blockBytes / kSamplesOfBlock) addresses.push_back(pool.base() + at);
    const dissect::Times times = place->timeAtomics(gpu_, addresses);
    std::vector<std::optional<dissect::PageLabel>> labels;
    for (std::size_t block = 0; block < unknown_; ++block)
        labels.push_back(labelFrom(std::span(times).subspan(block * kSamplesOfBlock, kSamplesOfBlock), survey_->row,
                                   survey_->topology.sideOf.at(first)));
    pool.clear();
    readState(ask({{"do", "label unknown"}, {"labels", labelsJson(labels)}}).body);
    return true;
}

void KeptGpu::end(const LeaseBook& book) {
    const std::optional<Channel> channel = channelTo(book);
    if (!channel) return;
    askOf(*channel, {{"do", "end"}});
    const auto latest = Clock::now() + kPatience;
    while (Keeper::isKept(*book.findFolder()) && Clock::now() < latest)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

/// Whether there is one that keeps memory in the same order.
bool KeptGpu::findAnother() {
    std::optional<Channel> channel = channelTo(book_);
    if (!channel) return false;
    const json state = askOf(*channel, {{"do", "state"}}).body;
    if (state.value("survey", json()) != survey_->toJson()) return false;
    channel_ = std::move(*channel);
    return true;
}

std::vector<walls::BlockSource::Block> KeptGpu::take(const std::vector<std::size_t>& ofKind) {
    if (channel_.ended() && !findAnother())
        throw Error("the keeper of {} is gone, and with it all memory that this program does not have yet",
                    gpu_.name());
    std::vector<Block> taken;
    std::vector<std::size_t> left = ofKind;
    while (std::any_of(left.begin(), left.end(), [](std::size_t count) { return count > 0; })) {
        const Channel::Message given = ask({{"do", "take"}, {"of_kind", left}});
        if (given.files.empty()) break;
        for (std::size_t i = 0; i < given.files.size(); ++i) {
            const dissect::PageLabel label = walls::labelFrom(given.body.at("labels").at(i));
            taken.push_back({import(given.files[i]), label});
            --left.at(survey_->kindOf(label));
        }
    }
    return taken;
}

}  // namespace bulkhead::isolate
