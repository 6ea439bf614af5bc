#include "recordings.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "../compute_variants.h"

namespace bulkhead::golden {

std::uint32_t hashOf(const std::vector<std::uint64_t>& words) {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (std::uint64_t word : words)
        for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (word >> (8 * byte) & 0xff)) * 0x100000001b3u;
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
}

const std::map<std::string, Recorded>& recordings() {
    static const std::map<std::string, Recorded> all = [] {
        const std::filesystem::path path = std::filesystem::path(BULKHEAD_SOURCE_DIR) / "tests/exec/golden/h200.bin";
        std::ifstream file(path, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        if (bytes.substr(0, 8) != "BHGOLD1\n") throw std::runtime_error("no recordings in " + path.string());
        std::map<std::string, const Variant*> byName;
        for (const Variant& variant : variants()) byName[variant.name] = &variant;
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

}  // namespace bulkhead::golden
