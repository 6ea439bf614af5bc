#include "cli/style.h"

#include <unistd.h>

#include "base/environment.h"

namespace bulkhead::cli {

bool hasColors(int fileDescriptor) {
    const std::string terminal = environment("TERM");
    return environment("NO_COLOR").empty() && isatty(fileDescriptor) != 0 && !terminal.empty() && terminal != "dumb";
}

std::string bold(const std::string& text, int fileDescriptor) {
    return hasColors(fileDescriptor) ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string alarming(const std::string& text, int fileDescriptor) {
    return hasColors(fileDescriptor) ? "\x1b[1;31m" + text + "\x1b[0m" : text;
}

}  // namespace bulkhead::cli
