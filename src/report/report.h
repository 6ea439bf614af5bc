#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace bulkhead::report {

/// How wide a table for people may be.
struct TextOptions {
    std::size_t width = 0;  ///< of the terminal: names are shortened and columns left out until it fits; 0: any
    bool details = false;   ///< all columns, however wide
    std::string more = {};  ///< the option that shows all of them, told below a table without some
};

/// Title, question and a table for people: aligned columns, rounded numbers. The answer is in conclusion().
std::string text(const Result&, const TextOptions& = {});

/// The answer, how to read it, and caveats: a line each, or several where `width` is not 0.
std::string conclusion(const Result&, std::size_t width = 0);

/// RFC 4180, one header row ("name (unit)"), numbers in full precision.
std::string csv(const Result&);

/// {"title", "question", "answer", "reading", "caveats", "provenance", "columns": [{"name", "unit"}], "rows": [{name:
/// value}], "charts"}, numbers in full precision.
nlohmann::ordered_json json(const Result&);

/// A file of one result, or of several as "results".
nlohmann::ordered_json fileJson(const Result&);
nlohmann::ordered_json fileJson(std::span<const Result>);

/// What json() wrote. Throws Error, whose message begins with `where`.
Result fromJson(const nlohmann::json&, const std::string& where);

/// All results of a file: one, an array, or an object that has them as "results", or a map's "figures". Throws Error,
/// whose message begins with `where`.
std::vector<Result> resultsIn(const nlohmann::json&, const std::string& where);

/// Results that differ in nothing but their GPU, in one, with a column that says which: a simulated GPU beside a real
/// one. Only of titles and columns that occur on more than one GPU.
std::vector<Result> sideBySide(std::span<const Result>);

/// Results that belong together on a page.
struct Chapter {
    std::string title;  ///< empty: none, on a page that has no other
    std::vector<Result> results;
};

/// What ran where and when, for Perfetto.
struct Trace {
    std::string name;
    std::string json;  ///< empty: there is none
};

/// A page that needs no other file and no network: each result with its question, answer, charts, table, and how to
/// make it again. Results of one kind share a section, in which the reader chooses.
std::string html(const std::string& title, std::span<const Result>, const Trace& = {});
std::string html(const std::string& title, std::span<const Chapter>, const Trace& = {});

/// A chart of a result as a picture for a paper.
std::string svg(const Result&, const Chart&);

/// A picture of svg() in pixels, two for each of its units. Throws Error where the library for it is not installed.
std::string png(const std::string& svg);

/// Throws Error if png() would, for want of its library.
void expectPng();

}  // namespace bulkhead::report
