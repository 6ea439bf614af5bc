// bulkhead serve FOLDER --store FOLDER without the rest of the program, so that it can be built with sanitizers alone:
// the commands that it runs are those of a release build. The command line's own parser is not in it, and refuses
// nothing.
#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "serve/server.h"

int main(int count, char** words) {
    if (count != 5) {
        fmt::print(stderr, "usage: {} serve FOLDER --store FOLDER\n", words[0]);
        return 2;
    }
    bulkhead::serve::Settings settings;
    settings.folder = std::filesystem::canonical(words[2]);
    settings.store = std::filesystem::absolute(words[4]);
    settings.program = BULKHEAD_PROGRAM;
    settings.version = BULKHEAD_VERSION;
    settings.refuse = [](const std::vector<std::string>&) { return std::string(); };
    settings.isRepeatable = [](const std::string& gpu) { return gpu.starts_with("sim:"); };
    settings.ready = [&](const std::string& address) {
        fmt::print("{} at {}\n", settings.folder.string(), address);
        std::fflush(stdout);
    };
    try {
        bulkhead::serve::serve(settings);
    } catch (const std::exception& e) {
        fmt::print(stderr, "bulkhead: {}\n", e.what());
        return 2;
    }
    return 0;
}
