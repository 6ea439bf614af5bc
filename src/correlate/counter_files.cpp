#include "correlate/counter_files.h"

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/files.h"
#include "metrics/ncu_csv.h"

namespace bulkhead::correlate {
namespace {

namespace fs = std::filesystem;

bool isSeparator(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) == 0;
}

bool sameWord(std::string_view a, std::string_view b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
    });
}

std::vector<std::string> wordsOf(const std::string& text) {
    std::vector<std::string> words(1);
    for (const char c : text) {
        if (!isSeparator(c)) {
            words.back() += c;
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    return words;
}

std::vector<fs::path> filesIn(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder))
        if (entry.path().extension() == ".csv") files.push_back(entry.path());
    if (files.empty()) throw Error("--ncu {}: has no file that ends in .csv", folder.string());
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace

std::optional<std::string> ownerOf(const fs::path& file, std::span<const std::string_view> names) {
    for (const std::string& word : wordsOf(file.stem().string()))
        for (const std::string_view name : names)
            if (sameWord(word, name)) return std::string(name);
    return std::nullopt;
}

std::vector<fs::path> listCounterFiles(std::span<const std::string> named) {
    std::vector<fs::path> files;
    for (const std::string& name : named) {
        std::error_code unknown;
        if (!fs::is_directory(name, unknown)) {
            files.emplace_back(name);
            continue;
        }
        const std::vector<fs::path> inside = filesIn(name);
        files.insert(files.end(), inside.begin(), inside.end());
    }
    return files;
}

std::vector<CounterFile> readCounterFiles(std::span<const std::string> named, std::span<const std::string_view> names) {
    std::vector<CounterFile> files;
    for (const fs::path& path : listCounterFiles(named))
        files.push_back({path, ownerOf(path, names), metrics::readNcuCsv(readFile(path), path.string())});
    return files;
}

double mostPasses(std::span<const std::vector<metrics::LaunchRow>> runs) {
    double most = 1;
    for (const std::vector<metrics::LaunchRow>& run : runs)
        for (const metrics::LaunchRow& row : run)
            most = std::max(most, row.value("profiler__replayer_passes").value_or(1));
    return most;
}

}  // namespace bulkhead::correlate
