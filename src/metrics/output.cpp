#include "metrics/output.h"

#include <cstdio>

#include "base/error.h"
#include "base/files.h"
#include "metrics/ncu_csv.h"

namespace bulkhead::metrics {

Output parseOutput(const std::string& text, const std::string& where) {
    constexpr std::string_view kForm = "ncu", kBeforeFile = "ncu:";
    if (text.empty()) return {};
    if (text == kForm) return {true, ""};
    if (text.starts_with(kBeforeFile) && text.size() > kBeforeFile.size())
        return {true, text.substr(kBeforeFile.size())};
    throw Error("{} {}: choose ncu, or ncu:FILE", where, text);
}

void write(const Output& output, const std::vector<LaunchRow>& rows) {
    if (!output.wanted) return;
    const std::string text = ncuCsv(rows);
    if (!output.file.empty()) return writeFile(output.file, text);
    std::fwrite(text.data(), 1, text.size(), stdout);
    if (std::fflush(stdout) != 0) throw Error("standard output cannot be written");
}

}  // namespace bulkhead::metrics
