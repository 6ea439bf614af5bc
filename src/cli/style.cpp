#include "cli/style.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace bulkhead::cli {

bool hasColors(int fileDescriptor) {
    const char* const none = std::getenv("NO_COLOR");
    const char* const terminal = std::getenv("TERM");
    if (none != nullptr && *none != '\0') return false;
    return isatty(fileDescriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::string bold(const std::string& text, int fileDescriptor) {
    return hasColors(fileDescriptor) ? "\x1b[1m" + text + "\x1b[0m" : text;
}

std::string alarming(const std::string& text, int fileDescriptor) {
    return hasColors(fileDescriptor) ? "\x1b[1;31m" + text + "\x1b[0m" : text;
}

}  // namespace bulkhead::cli
