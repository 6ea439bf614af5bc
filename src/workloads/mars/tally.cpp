#include "workloads/mars/tally.h"

#include "base/error.h"

namespace bulkhead::workloads::mars {

Tally tallyGroups(const Groups& groups, const std::function<std::string(std::size_t record)>& nameOf) {
    Tally sizes;
    for (const Range& range : hostRanges(groups)) {
        const std::string name = nameOf(static_cast<std::size_t>(range.begin));
        for (int i = range.begin + 1; i < range.end; ++i)
            if (const std::string other = nameOf(static_cast<std::size_t>(i)); other != name)
                throw Error("record {} is {}, in the group of {}", i, other, name);
        if (!sizes.emplace(name, range.end - range.begin).second) throw Error("there are two groups of {}", name);
    }
    return sizes;
}

void expectSame(std::string_view what, const Tally& reference, const Tally& actual) {
    for (const auto& [name, count] : reference) {
        const auto found = actual.find(name);
        const int got = found == actual.end() ? 0 : found->second;
        if (got != count) throw Error("{} of {} is {}, the reference has {}", what, name, got, count);
    }
    for (const auto& [name, count] : actual)
        if (!reference.contains(name)) throw Error("{} of {} is {}, the reference has none", what, name, count);
}

}  // namespace bulkhead::workloads::mars
