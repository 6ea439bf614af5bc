#include "cli/show.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/style.h"
#include "cli/verbs.h"
#include "report/report.h"

namespace bulkhead::cli {
namespace {

bool& wide() {
    static bool wanted = false;
    return wanted;
}

/// Of the terminal; 0: there is none, or it does not say.
std::size_t terminalWidth() {
    winsize size{};
    return isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

void addWideOption(CommandLine line) {
    line.flag("--wide", wide(), "show every column of tables, also beyond the edge of the terminal");
}

std::string tableText(const Result& result) {
    return report::text(result, {terminalWidth(), wide(), "--wide"});
}

std::string answerText(const Result& result) {
    std::string text = report::conclusion(result, terminalWidth());
    const std::string label = "Answer:";
    if (text.starts_with(label)) text.replace(0, label.size(), bold(label, STDOUT_FILENO));
    return text;
}

void showResults(std::span<const Result> results) {
    std::string out;
    for (const Result& result : results) {
        if (!out.empty()) out += "\n";
        out += tableText(result);
        if (&result != &results.front()) out += answerText(result);
    }
    if (results.empty()) return;
    const std::string answer = answerText(results.front());
    writeOutput("-", out + (results.size() > 1 && !answer.empty() ? "\n" : "") + answer);
}

void showResults(const Result& result) {
    showResults(std::span(&result, 1));
}

}  // namespace bulkhead::cli
