#include "isolate/keeper.h"

#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "walls/survey.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;

constexpr const char *kLock = "keeper.lock", *kSurvey = "keeper.survey";
constexpr std::chrono::milliseconds kBetweenLooks(100);  ///< between looks at whether it is to end

std::size_t numberIn(const json& request, const char* name) {
    const auto found = request.find(name);
    if (found == request.end() || !found->is_number_unsigned()) throw Error("a request without a number {}", name);
    return found->get<std::size_t>();
}

walls::PagesLeftOut leftOutIn(const json& request) {
    constexpr std::size_t kMost = 1024;
    return {numberIn(request, "skip_after"), static_cast<unsigned>(std::min(numberIn(request, "skip"), kMost + 1)),
            request.value("skip_together", false)};
}

BlockStore::Labels labelsIn(const json& request) {
    const auto found = request.find("labels");
    if (found == request.end() || !found->is_array()) throw Error("a request without labels");
    BlockStore::Labels labels;
    for (const json& label : *found)
        labels.push_back(label.is_null() ? std::nullopt : std::optional(walls::labelFrom(label)));
    return labels;
}

/// A survey is true until another one does.
std::string driverThatRuns() {
    std::string words;
    for (const char* file : {"/proc/sys/kernel/random/boot_id", "/sys/module/nvidia/version"}) {
        std::ifstream in(file);
        std::string line;
        std::getline(in, line);
        words += line + "\n";
    }
    return words;
}

}  // namespace

LeaseFolder::File lockAsKeeper(const LeaseFolder& folder) {
    if (!folder.mine())
        throw Error("{}: only user {} can keep the GPU of this folder", folder.path().string(), folder.owner());
    if (!folder.openOwners(kLock)) folder.replace(kLock, "");
    std::optional<LeaseFolder::File> file = folder.openOwners(kLock);
    if (!file || ::flock(file->descriptor.get(), LOCK_EX | LOCK_NB) != 0)
        throw Error("{}: another process keeps this GPU", (folder.path() / kLock).string());
    return std::move(*file);
}

/// If it still holds.
std::optional<Keeper::Remembered> Keeper::rememberedIn(const LeaseFolder& folder) {
    constexpr std::size_t kMost = 1 << 18;
    try {
        const std::optional<LeaseFolder::File> file = folder.openOwners(kSurvey);
        if (!file) return std::nullopt;
        const json text = json::parse(folder.read(*file, kSurvey, kMost));
        if (text.value("driver", "") != driverThatRuns()) return std::nullopt;
        return Remembered{walls::Survey::fromJson(text.value("survey", json()), kSurvey), leftOutIn(text)};
    } catch (const std::exception&) {
        return std::nullopt;  // then it is found again
    }
}

bool Keeper::isKept(const LeaseFolder& folder) {
    const std::optional<LeaseFolder::File> file = folder.openOwners(kLock);
    return file && ::flock(file->descriptor.get(), LOCK_SH | LOCK_NB) != 0;
}

Keeper::Keeper(const driver::DriverApi& api, driver::CUdevice device, const LeaseBook& book)
    : book_(book),
      folder_(book.openFolder()),
      lock_(lockAsKeeper(folder_)),
      listener_(folder_.path(), kSocket, folder_.forSeveral()),
      store_(api, device),
      remembered_(rememberedIn(folder_)) {}

void Keeper::run(const std::function<bool()>& ended) {
    while (!ended() && !told_) {
        std::vector<pollfd> watched = {{listener_.descriptor(), POLLIN, 0}};
        for (const auto& [descriptor, client] : clients_) watched.push_back({descriptor, POLLIN, 0});
        const int ready = ::poll(watched.data(), watched.size(), static_cast<int>(kBetweenLooks.count()));
        store_.takeMissing();
        if (ready <= 0) continue;
        for (std::size_t i = 1; i < watched.size(); ++i) {
            if (watched[i].revents == 0) continue;
            const auto client = clients_.find(watched[i].fd);
            if (serve(client->second)) continue;
            forget(client->second);
            clients_.erase(client);
        }
        if (watched.front().revents == 0) continue;
        if (std::optional<Channel> channel = listener_.accept()) {
            const int descriptor = channel->descriptor();
            clients_.emplace(descriptor, Client{std::move(*channel), ++lastNumber_, std::nullopt});
        }
    }
}

void Keeper::forget(const Client& client) {
    store_.giveBack(client.number);
    store_.expect(client.released);
}

/// False once it is gone.
bool Keeper::serve(Client& client) {
    Answer given;
    try {
        const std::optional<Channel::Message> message = client.channel.receive(kBetweenLooks);
        if (!message) return false;
        given = answer(client, message->body);
    } catch (const std::exception& e) {
        given.body = {{"error", e.what()}};
    }
    try {
        std::vector<int> files;
        for (const OwnDescriptor& file : given.files) files.push_back(file.get());
        client.channel.send(given.body, files);
        return true;
    } catch (const Error&) {
        return false;
    }
}

Keeper::Answer Keeper::answer(Client& client, const json& request) {
    const std::string what = request.value("do", "");
    if (what == "state") return state();
    if (what == "make") return make(client, request);
    if (what == "show") return show(client, request);
    if (what == "label") return label(client, request);
    if (what == "settle") return settle(client, request);
    if (what == "recall") return recall(client);
    if (what == "take") return take(client, request);
    if (what == "release") return release(client);
    if (what == "show unknown") return showUnknown(client, request);
    if (what == "label unknown") return labelUnknown(client, request);
    if (what == "end") return end(client);
    throw Error("a keeper knows no request {}", printable(what));
}

Keeper::Answer Keeper::state() const {
    Answer a;
    a.body = {{"process", ::getpid()},
              {"survey", survey_ ? survey_->toJson() : json()},
              {"remembered", remembered_ ? remembered_->survey.toJson() : json()},
              {"remembered_skip", remembered_ ? remembered_->leftOut.pages : 0},
              {"remembered_skip_after", remembered_ ? remembered_->leftOut.after : 0},
              {"remembered_skip_together", remembered_ && remembered_->leftOut.together},
              {"blocks", store_.blocks()},
              {"block_bytes", store_.blockBytes()},
              {"bytes", store_.settled() ? store_.bytes() : 0},
              {"all_bytes", store_.allBytes() + releasedBytes()},
              {"released_bytes", releasedBytes()},
              {"unknown", store_.settled() ? store_.unknown().size() : 0},
              {"in_use", store_.inUse()}};
    return a;
}

/// What changes memory for all is the folder's owner's.
void Keeper::expectOwner(const Client& client) const {
    const uid_t user = client.channel.peer().user;
    if (user != folder_.owner() && user != 0)
        throw Error("only user {} can set the partitions of this GPU", folder_.owner());
}

Keeper::Answer Keeper::make(const Client& client, const json& request) {
    expectOwner(client);
    if (releasedBytes() > 0)
        throw Error("a program without a memory wall has memory of this GPU: it can be taken anew when that has left");
    const std::size_t pages = numberIn(request, "pages_per_block");
    const walls::PagesLeftOut leaveOut = leftOutIn(request);
    constexpr std::size_t kMostPages = 1024;
    if (pages == 0 || pages > kMostPages || leaveOut.pages > pages) throw Error("blocks of {} pages", pages);
    store_.make(static_cast<unsigned>(pages), leaveOut, numberIn(request, "bytes"));
    leftOut_ = leaveOut;
    survey_.reset();
    return state();
}

Keeper::Answer Keeper::show(const Client& client, const json& request) const {
    expectOwner(client);
    Answer a;
    const std::size_t first = numberIn(request, "first");
    for (std::size_t i = first; i < store_.blocks() && a.files.size() < Channel::kMostFiles; ++i)
        a.files.emplace_back([&] { return store_.share(i); });
    return a;
}

Keeper::Answer Keeper::label(const Client& client, const json& request) {
    expectOwner(client);
    store_.label(numberIn(request, "first"), labelsIn(request));
    return {};
}

Keeper::Answer Keeper::settle(const Client& client, const json& request) {
    expectOwner(client);
    divide(walls::Survey::fromJson(request.value("survey", json()), "settle"), false);
    folder_.replace(kSurvey, json{{"driver", driverThatRuns()},
                                  {"survey", survey_->toJson()},
                                  {"skip", leftOut_.pages},
                                  {"skip_after", leftOut_.after},
                                  {"skip_together", leftOut_.together}}
                                 .dump());
    return state();
}

/// Goes on with what an earlier keeper knew. Of the memory that was made nothing is known yet.
Keeper::Answer Keeper::recall(const Client& client) {
    expectOwner(client);
    if (!remembered_) throw Error("nobody has looked at this GPU before");
    divide(remembered_->survey, true);
    return state();
}

void Keeper::divide(walls::Survey survey, bool keepUnknown) {
    store_.settle(
        {survey.colors(), survey.kinds(), [survey](const dissect::PageLabel& label) { return survey.kindOf(label); }},
        keepUnknown);
    survey_ = std::move(survey);
}

/// The lease that the process at the other end has, as the kernel knows it.
const Share& Keeper::shareOf(Client& client) const {
    if (client.share) return *client.share;
    const pid_t process = client.channel.peer().process;
    for (const Holder& holder : book_.occupancy().holders)
        if (holder.process == process) return client.share.emplace(holder.share);
    throw Error("process {} has no lease in {}", process, book_.folder().string());
}

Keeper::Answer Keeper::take(Client& client, const json& request) {
    if (!store_.settled()) throw Error("nobody has looked at this GPU's memory yet: set the partitions again");
    const Share& share = shareOf(client);
    const bool known = std::all_of(share.colors.begin(), share.colors.end(),
                                   [&](unsigned color) { return color < survey_->colors(); });
    if (!share.memoryWall || share.colors.empty() || !known)
        throw Error("partition {} has no memory by colors of this GPU", share.partition.name);
    // As many as the share needs, in whole turns.
    const Bytes turn = survey_->turn() * store_.blockBytes() * share.colors.size() / survey_->colors();
    const std::size_t most = (share.memoryBytes + turn - 1) / turn * survey_->turn(),
                      has = store_.blocksOf(client.number);
    Answer a;
    a.body["labels"] = json::array();
    for (const std::size_t block :
         store_.take(client.number, share.colors, request.value("of_kind", std::vector<std::size_t>{}),
                     std::min(Channel::kMostFiles, most - std::min(most, has)))) {
        a.files.emplace_back([&] { return store_.share(block); });
        a.body["labels"].push_back(walls::labelJson(store_.labelOf(block)));
    }
    return a;
}

Bytes Keeper::releasedBytes() const {
    Bytes sum = 0;
    for (const auto& [descriptor, client] : clients_) sum += client.released;
    return sum;
}

/// All of its share, or nothing.
Keeper::Answer Keeper::release(Client& client) {
    const Share& share = shareOf(client);
    if (share.memoryWall) throw Error("partition {} has memory of its colors", share.partition.name);
    if (client.released > 0) throw Error("process {} has its memory", client.channel.peer().process);
    client.released = store_.release(share.memoryBytes);
    if (client.released + store_.blockBytes() <= share.memoryBytes) {
        const Bytes had = std::exchange(client.released, 0);
        store_.expect(had);
        throw Error("{} MB are free of the {} MB of partition {}: programs in other partitions have the rest",
                    had >> 20, share.memoryBytes >> 20, share.partition.name);
    }
    Answer a;
    a.body["bytes"] = client.released;
    return a;
}

Keeper::Answer Keeper::showUnknown(const Client& client, const json& request) const {
    expectOwner(client);
    Answer a;
    const std::vector<std::size_t> blocks = store_.unknown();
    for (std::size_t i = numberIn(request, "first"); i < blocks.size() && a.files.size() < Channel::kMostFiles; ++i)
        a.files.emplace_back([&] { return store_.share(blocks[i]); });
    return a;
}

Keeper::Answer Keeper::labelUnknown(const Client& client, const json& request) {
    expectOwner(client);
    store_.labelUnknown(labelsIn(request));
    return state();
}

Keeper::Answer Keeper::end(const Client& client) {
    expectOwner(client);
    if (store_.inUse() || releasedBytes() > 0)
        throw Error("tenants have memory of this GPU: it can be given back when they have left");
    folder_.remove(kSurvey);
    told_ = true;
    return {};
}

}  // namespace bulkhead::isolate
