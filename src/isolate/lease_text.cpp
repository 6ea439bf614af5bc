#include "isolate/lease_text.h"

#include "base/schema.h"

namespace bulkhead::isolate {
namespace {

using nlohmann::json;

// A lease of more cannot be of a GPU, nor can a longer name be of a program.
constexpr std::size_t kMostThings = 1 << 16, kLongestText = 256;

std::string textFrom(JsonObject& lease, const std::string& key) {
    auto text = lease.get<std::string>(key);
    if (text.size() > kLongestText) throw Error("{}: {} has {} bytes", lease.where(), key, text.size());
    return text;
}

/// Numbers in order, each once: overlaps are found by that.
std::vector<unsigned> thingsFrom(JsonObject& lease, const std::string& key) {
    const auto things = lease.get<std::vector<unsigned>>(key);
    for (std::size_t i = 0; i < things.size(); ++i)
        if (things[i] >= kMostThings || (i > 0 && things[i - 1] >= things[i]))
            throw Error("{}: {} are not numbers of a GPU in order", lease.where(), key);
    return things;
}

}  // namespace

std::string leaseText(const Holder& holder) {
    const Share& share = holder.share;
    return jsonText(json{{"schema", schemas::kLease.text()},
                         {"process", holder.process},
                         {"program", holder.program},
                         {"since", holder.since},
                         {"partition", toJson({share.partition}).at("partitions").at(0)},
                         {"sms", share.sms},
                         {"colors", share.colors},
                         {"memory_bytes", share.memoryBytes},
                         {"memory_wall", share.memoryWall}}) +
           "\n";
}

Holder readLease(std::string_view text) {
    const json value = parseJson(text, "a lease");
    JsonObject lease(value, "a lease");
    schemas::kLease.expectIn(lease);
    Holder holder;
    holder.process = lease.get<pid_t>("process");
    holder.program = textFrom(lease, "program");
    holder.since = textFrom(lease, "since");
    const json partitions = {{"partitions", json::array({lease.at("partition")})}};
    holder.share.partition = partitionsFromJson(partitions, lease.where()).front();
    holder.share.sms = thingsFrom(lease, "sms");
    holder.share.colors = thingsFrom(lease, "colors");
    holder.share.memoryBytes = lease.get<Bytes>("memory_bytes");
    lease.read("memory_wall", holder.share.memoryWall);
    return holder;
}

}  // namespace bulkhead::isolate
