#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "base/result.h"

namespace bulkhead::report {

/// A table for people: aligned columns, rounded numbers.
std::string text(const Result&);

/// RFC 4180, one header row ("name (unit)"), numbers in full precision.
std::string csv(const Result&);

/// {"title", "provenance", "columns": [{"name", "unit"}], "rows": [{name: value}]}, numbers in full precision.
nlohmann::ordered_json json(const Result&);

/// A page that needs no other file: each result as a table, with where it came from.
std::string html(const std::string& title, std::span<const Result>);

}  // namespace bulkhead::report
