#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace bulkhead {

/// A format of JSON files and its version. A file names both in its first member: {"schema": "bulkhead.map/1", ...}.
struct Schema {
    std::string_view name;
    unsigned version;
    /// What writes such a file again, where only Bulkhead writes it. People who write one may leave the schema out.
    std::string_view writtenBy = {};

    std::string text() const;
    /// {"schema": ...}, to which a writer adds its members.
    nlohmann::ordered_json begin() const;
    /// Throws Error, in one line with what was found and what is read: a file of another format, of another version, or
    /// without a schema where it must have one.
    void expectIn(JsonObject&) const;
};

namespace schemas {

inline constexpr Schema kProfile = {"bulkhead.profile", 1};
inline constexpr Schema kScenario = {"bulkhead.scenario", 1};
inline constexpr Schema kPartitions = {"bulkhead.partitions", 1};
inline constexpr Schema kResult = {"bulkhead.result", 1};
inline constexpr Schema kMap = {"bulkhead.map", 1, "bulkhead dissect --out FILE"};
inline constexpr Schema kLease = {"bulkhead.lease", 1, "joining a partition"};
// Nothing of ours reads these.
inline constexpr Schema kPlan = {"bulkhead.plan", 1};
inline constexpr Schema kRun = {"bulkhead.run", 1};
inline constexpr Schema kStatistics = {"bulkhead.statistics", 1};

}  // namespace schemas
}  // namespace bulkhead
