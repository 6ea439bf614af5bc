#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "compute_harness.h"
#include "compute_variants.h"

// Every instruction variant against what an H200 answered (golden/run_on_gpu.cpp wrote the file).

namespace bulkhead::sim::test {
namespace {

using golden::Compare;
using golden::kTuples;
using golden::Variant;

struct Recorded {
    std::uint32_t inputHash;
    std::vector<std::uint64_t> outputs;  ///< tuple after tuple
};

std::uint32_t hashOf(const std::vector<std::uint64_t>& words) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::uint64_t word : words)
        for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3u;
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

const std::map<std::string, Recorded>& recordings() {
    static const std::map<std::string, Recorded> all = [] {
        const std::filesystem::path path = std::filesystem::path(__FILE__).parent_path() / "golden" / "h200.bin";
        std::ifstream file(path, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        if (bytes.substr(0, 8) != "BHGOLD1\n") throw std::runtime_error("no recordings in " + path.string());
        std::map<std::string, const Variant*> byName;
        for (const Variant& variant : golden::variants()) byName[variant.name] = &variant;
        std::map<std::string, Recorded> result;
        std::size_t at = 8;
        const auto take = [&](unsigned count) {
            std::uint64_t value = 0;
            for (unsigned i = 0; i < count; ++i)
                value |= std::uint64_t{static_cast<unsigned char>(bytes.at(at++))} << (8 * i);
            return value;
        };
        while (at < bytes.size()) {
            const auto length = static_cast<std::size_t>(take(1));
            const std::string name = bytes.substr(at, length);
            at += length;
            Recorded recorded;
            recorded.inputHash = static_cast<std::uint32_t>(take(4));
            const auto tupleBytes = static_cast<std::size_t>(take(1));
            const auto found = byName.find(name);
            if (found == byName.end()) {
                at += tupleBytes * kTuples;
                continue;
            }
            for (int tuple = 0; tuple < kTuples; ++tuple)
                for (unsigned bits : found->second->outputs) recorded.outputs.push_back(take(bits / 8));
            result.emplace(name, std::move(recorded));
        }
        return result;
    }();
    return all;
}

std::vector<std::uint64_t> simulate(const Variant& variant, const std::vector<std::uint64_t>& inputs) {
    Snippet snippet(golden::declarations(variant), variant.body);
    static const std::string kInputs[] = {"%a", "%b", "%c", "%d"}, kOutputs[] = {"%o0", "%o1", "%o2"};
    std::vector<std::uint64_t> outputs;
    for (int warp = 0; warp < kTuples / kLanes; ++warp) {
        for (int lane = 0; lane < kLanes; ++lane)
            for (std::size_t i = 0; i < variant.inputs.size(); ++i)
                snippet.set(kInputs[i], lane,
                            inputs[static_cast<std::size_t>(warp * kLanes + lane) * variant.inputs.size() + i]);
        snippet.run();
        for (int lane = 0; lane < kLanes; ++lane)
            for (std::size_t i = 0; i < variant.outputs.size(); ++i) outputs.push_back(snippet.get(kOutputs[i], lane));
    }
    return outputs;
}

std::string hex(std::uint64_t value) {
    char text[20];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
    return text;
}

std::string describe(const Variant& variant, const std::vector<std::uint64_t>& inputs, std::size_t tuple) {
    std::string text = variant.name + " tuple " + std::to_string(tuple) + ":";
    for (std::size_t i = 0; i < variant.inputs.size(); ++i)
        text += " " + hex(inputs[tuple * variant.inputs.size() + i]);
    return text;
}

class Golden : public testing::TestWithParam<const Variant*> {};

TEST_P(Golden, matchesHardware) {
    const Variant& variant = *GetParam();
    const auto found = recordings().find(variant.name);
    if (found == recordings().end()) GTEST_SKIP() << "hardware was never asked: run golden/run_on_gpu.cpp again";
    const std::vector<std::uint64_t> inputs = golden::inputsOf(variant);
    ASSERT_EQ(found->second.inputHash, hashOf(inputs))
        << "the inputs have changed since: run golden/run_on_gpu.cpp again";
    const std::vector<std::uint64_t> outputs = simulate(variant, inputs);
    int shown = 0;
    for (std::size_t i = 0; i < outputs.size() && shown < 8; ++i) {
        if (outputs[i] == found->second.outputs[i]) continue;
        const std::size_t count = variant.outputs.size();
        ADD_FAILURE() << describe(variant, inputs, i / count) << " -> " << hex(outputs[i]) << " in output " << i % count
                      << ", hardware says " << hex(found->second.outputs[i]);
        ++shown;
    }
}

std::vector<const Variant*> exactVariants() {
    std::vector<const Variant*> list;
    for (const Variant& variant : golden::variants())
        if (variant.compare == Compare::bits) list.push_back(&variant);
    return list;
}

std::string testName(const testing::TestParamInfo<const Variant*>& info) {
    std::string name;
    for (char c : info.param->name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(Compute, Golden, testing::ValuesIn(exactVariants()), testName);

}  // namespace
}  // namespace bulkhead::sim::test
