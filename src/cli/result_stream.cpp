#include "cli/result_stream.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/verbs.h"
#include "report/report.h"

namespace bulkhead::cli {

void ResultStream::begin() {
    if (begun_) return;
    begun_ = true;
    // What a file of no results is, open at its end.
    std::string head = jsonText(report::fileJson(std::span<const Result>()));
    head.erase(head.rfind("]}"));
    writeOutput("-", head + "\n");
}

void ResultStream::add(const Result& result) {
    begin();
    // The comma has a line to itself: so every other line is complete.
    writeOutput("-", (any_ ? ",\n" : "") + jsonText(report::json(result)) + "\n");
    any_ = true;
}

void ResultStream::end() {
    begin();
    writeOutput("-", "]}\n");
}

void writeResults(const std::string& file, std::span<const Result> results) {
    if (file != "-") return writeJson(file, report::fileJson(results));
    ResultStream stream;
    for (const Result& result : results) stream.add(result);
    stream.end();
}

}  // namespace bulkhead::cli
