#include "report/chapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

namespace bulkhead::report {
namespace {

/// Options that say where results go, not what they are.
constexpr std::array<std::string_view, 9> kOutputs = {"--json", "--html", "--csv",   "--out", "-o",
                                                      "--svg",  "--png",  "--store", "--jobs"};

/// Papers by the names that bulkhead reproduce has for them.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kPapers = {
    {{"ciao", "CIAO"}, {"fgpu", "Fractional GPUs"}, {"interference", "Cache Interference"}, {"all", "Three papers"}}};

/// A command without the files that it writes.
std::string whatItDoes(const std::string& command) {
    std::istringstream words(command);
    std::string out;
    bool file = false;
    for (std::string word; words >> word;) {
        if (!file && std::find(kOutputs.begin(), kOutputs.end(), word) == kOutputs.end()) out += word + " ";
        file = !file && std::find(kOutputs.begin(), kOutputs.end(), word) != kOutputs.end();
    }
    return out;
}

bool replaces(const Result& newer, const Result& older) {
    const auto same = [](const Result::Column& a, const Result::Column& b) {
        return a.name == b.name && a.unit == b.unit;
    };
    return newer.title == older.title && newer.provenance.gpu == older.provenance.gpu &&
           newer.provenance.date > older.provenance.date &&
           std::equal(newer.columns.begin(), newer.columns.end(), older.columns.begin(), older.columns.end(), same) &&
           whatItDoes(newer.provenance.command) == whatItDoes(older.provenance.command);
}

/// "sim:tx2" of "sim:tx2", "cuda:0" of "cuda:0: NVIDIA H200, driver 580".
std::string machineOf(const Result& r) {
    const std::string& gpu = r.provenance.gpu;
    const std::string between = " beside ";
    if (const std::size_t at = gpu.find(between); at != std::string::npos)
        return "hardware beside " + gpu.substr(at + between.size());
    return gpu.substr(0, gpu.find(": "));
}

/// The paper that a command reproduces; empty where it does none.
std::string paperOf(const Result& r) {
    const std::string verb = " reproduce ";
    const std::size_t at = r.provenance.command.find(verb);
    if (at == std::string::npos) return {};
    const std::string rest = r.provenance.command.substr(at + verb.size());
    return rest.substr(0, rest.find(' '));
}

std::string chapterTitle(const std::string& paper, const std::string& machine) {
    const std::string on = machine.empty() || machine == "none" ? "" : " on " + machine;
    if (paper.empty()) return "Measurements" + on;
    const auto* const known =
        std::find_if(kPapers.begin(), kPapers.end(), [&](const auto& its) { return its.first == paper; });
    return (known == kPapers.end() ? paper : std::string(known->second)) + on;
}

/// The day is enough: results of one run stay in its order.
std::string dayOf(const Result& r) {
    return r.provenance.date.substr(0, 10);
}

}  // namespace

std::vector<Result> withoutSuperseded(std::span<const Result> results) {
    std::vector<Result> left;
    for (const Result& r : results)
        if (std::none_of(results.begin(), results.end(), [&](const Result& other) { return replaces(other, r); }))
            left.push_back(r);
    return left;
}

std::vector<Chapter> chaptersOf(std::span<const Result> results) {
    std::vector<Chapter> chapters;
    for (const Result& r : results) {
        const std::string title = chapterTitle(paperOf(r), machineOf(r));
        auto chapter =
            std::find_if(chapters.begin(), chapters.end(), [&](const Chapter& c) { return c.title == title; });
        if (chapter == chapters.end()) chapter = chapters.insert(chapters.end(), {title, {}});
        chapter->results.push_back(r);
    }
    const auto newest = [](const Chapter& c) {
        std::string day;
        for (const Result& r : c.results) day = std::max(day, dayOf(r));
        return day;
    };
    for (Chapter& c : chapters)
        std::stable_sort(c.results.begin(), c.results.end(),
                         [](const Result& a, const Result& b) { return dayOf(a) > dayOf(b); });
    std::stable_sort(chapters.begin(), chapters.end(),
                     [&](const Chapter& a, const Chapter& b) { return newest(a) > newest(b); });
    return chapters;
}

}  // namespace bulkhead::report
