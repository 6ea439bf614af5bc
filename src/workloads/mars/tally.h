#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "workloads/mars/mapreduce.h"

namespace bulkhead::workloads::mars {

/// How often each name came.
using Tally = std::map<std::string, int, std::less<>>;

/// The size of each group by the name that all of its records have. Throws Error if a group has records of several
/// names, or a name several groups.
Tally tallyGroups(const Groups&, const std::function<std::string(std::size_t record)>& nameOf);

/// Throws Error at the first name whose number is another one, or that only one of them has.
void expectSame(std::string_view what, const Tally& reference, const Tally& actual);

}  // namespace bulkhead::workloads::mars
