#include "gpgpusim/cache_setting.h"

#include <bit>
#include <string_view>

#include "base/error.h"

namespace bulkhead::gpgpusim {
namespace {

constexpr std::int64_t kMostSets = 1 << 20, kMostQueue = 65536;

char letter(const Setting& s, const std::string& part, std::string_view allowed, const char* what) {
    if (part.size() != 1 || allowed.find(part[0]) == std::string_view::npos)
        refuse(s, fmt::format("{} must be one of {}, not {}", what, allowed, part.empty() ? "nothing" : part));
    return part[0];
}

std::int64_t powerOfTwo(const Setting& s, const std::string& part, std::int64_t least, std::int64_t most) {
    const std::int64_t value = integer(s, part, least, most);
    if (!std::has_single_bit(static_cast<std::uint64_t>(value)))
        refuse(s, fmt::format("{} must be a power of two", value));
    return value;
}

void readGeometry(const Setting& s, std::vector<std::string> parts, CacheSetting& cache) {
    if (parts.size() == 4) {
        cache.sectored = letter(s, parts.front(), "NS", "the kind of a cache") == 'S';
        parts.erase(parts.begin());
    }
    if (parts.size() != 3) refuse(s, "sets:line:ways must come first, or N:sets:line:ways");
    cache.sets = powerOfTwo(s, parts[0], 1, kMostSets);
    cache.lineBytes = powerOfTwo(s, parts[1], CacheSetting::kSectorBytes, 4096);
    cache.ways = integer(s, parts[2], 1, 4096);
}

void readPolicies(const Setting& s, const std::vector<std::string>& parts, CacheSetting& cache) {
    // The set index was left out of read-only caches before version 3.2.
    if (parts.size() != 4 && parts.size() != 5) refuse(s, "the policies must be five letters, as in L:L:m:N:H");
    cache.replacement = letter(s, parts[0], "LF", "replacement");
    cache.write = letter(s, parts[1], "RBTEL", "write policy");
    cache.allocate = letter(s, parts[2], "mfs", "allocation");
    letter(s, parts[3], "NWFL", "allocation by writes");
    if (parts.size() == 5) cache.index = letter(s, parts[4], "LHPXC", "set index");
}

void readMisses(const Setting& s, const std::vector<std::string>& parts, CacheSetting& cache) {
    if (parts.size() != 3) refuse(s, "the MSHRs must be KIND:number:merges, as in A:32:8");
    letter(s, parts[0], "AFST", "the kind of MSHRs");
    cache.mshrs = integer(s, parts[1], 1, kMostQueue);
    cache.merges = integer(s, parts[2], 1, kMostQueue);
}

}  // namespace

CacheSetting cacheSetting(const Setting& s) {
    CacheSetting cache;
    if (only(s) == "none") return cache;
    const std::vector<std::string> groups = split(only(s), ',');
    if (groups.size() < 4 || groups.size() > 5)
        refuse(s, "a cache must be sets:line:ways,policies,MSHRs,queue, as in 32:128:4,L:L:m:N:H,A:32:8,8");
    cache.exists = true;
    readGeometry(s, split(groups[0], ':'), cache);
    readPolicies(s, split(groups[1], ':'), cache);
    readMisses(s, split(groups[2], ':'), cache);
    const std::vector<std::string> queues = split(groups[3], ':');
    cache.missQueue = integer(s, queues.front(), 1, kMostQueue);
    for (std::size_t i = 1; i < queues.size(); ++i) integer(s, queues[i], 0, kMostQueue);
    if (groups.size() == 5) integer(s, groups[4], 0, kMostQueue);  // the port of its data
    return cache;
}

}  // namespace bulkhead::gpgpusim
