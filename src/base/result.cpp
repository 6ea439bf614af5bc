#include "base/result.h"

#include <algorithm>
#include <ctime>

#include "base/error.h"

namespace bulkhead {

void Result::add(std::vector<Value> row) {
    if (row.size() != columns.size())
        throw Error("result \"{}\": a row of {} values for {} columns", title, row.size(), columns.size());
    rows.push_back(std::move(row));
}

void Result::setDetails(std::initializer_list<std::string_view> names) {
    for (Column& column : columns)
        if (std::find(names.begin(), names.end(), column.name) != names.end()) column.detail = true;
}

std::string currentDate() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

}  // namespace bulkhead
