#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/batch_options.h"
#include "cli/verbs.h"
#include "gpu/capabilities.h"
#include "serve/server.h"

namespace bulkhead::cli {
namespace {

struct ServeOptions {
    std::string folder = ".", store;
    std::uint32_t port = 0;
};

bool isRepeatable(const std::string& gpu) {
    try {
        return gpu::capabilitiesOf(gpu).deterministic;
    } catch (const Error&) {
        return true;  // the command refuses what is none
    }
}

int runServe(const ServeOptions& o) {
    expectFolder(o.store);
    std::error_code unknown;
    if (!std::filesystem::is_directory(o.folder, unknown)) throw Error("{}: there is no such folder", o.folder);
    BatchOptions batch;
    batch.store = o.store;
    serve::Settings settings;
    settings.folder = std::filesystem::canonical(o.folder);
    // Commands would find it by themselves; stress keeps nothing unless it is told where.
    settings.store = storeFolder(batch);
    if (!settings.store.empty()) settings.store = std::filesystem::absolute(settings.store).lexically_normal();
    settings.port = static_cast<std::uint16_t>(o.port);
    settings.program = std::filesystem::read_symlink("/proc/self/exe").string();
    settings.version = version();
    settings.refuse = refusalOf;
    settings.isRepeatable = isRepeatable;
    settings.ready = [&](const std::string& address) {
        writeOutput("-", fmt::format("{} at {}\n", settings.folder.string(), address));
        fmt::print(stderr, "Whoever has this address can run programs as you. Ctrl-C ends it.\n");
    };
    serve::serve(settings);
    return kDone;
}

}  // namespace

Action setUpServe(CommandLine line) {
    const auto o = std::make_shared<ServeOptions>();
    line.option("FOLDER", o->folder, "folder of results, which new ones are added to [this one]");
    line.option("--port", o->port, "port of this machine to listen at; 0: any that is free")
        .showDefault()
        .check(between(0, 65535));
    line.option("--store", o->store, "keep finished runs in FOLDER; a question asked again resumes [the user's cache]")
        .typeName("FOLDER");
    return [o] { return runServe(*o); };
}

}  // namespace bulkhead::cli
