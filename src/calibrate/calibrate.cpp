#include "calibrate/calibrate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <optional>
#include <tuple>

#include "arch/nearest_profile.h"
#include "base/error.h"
#include "base/suggest.h"
#include "calibrate/measurement.h"
#include "calibrate/overlay.h"
#include "gpu/device_info.h"

namespace bulkhead::calibrate {
namespace {

std::vector<std::string> measurementNames() {
    std::vector<std::string> names;
    for (const Measurement& m : measurements()) names.emplace_back(m.name);
    return names;
}

void expectKnown(const std::vector<std::string>& only) {
    const std::vector<std::string> names = measurementNames();
    for (const std::string& name : only)
        if (std::find(names.begin(), names.end(), name) == names.end())
            throw Error("no measurement is called {}{}; there are {}", name.empty() ? "\"\"" : name,
                        didYouMean(name, names), fmt::join(names, ", "));
}

bool wants(const Options& options, std::string_view name) {
    return options.only.empty() || std::find(options.only.begin(), options.only.end(), name) != options.only.end();
}

/// "580.159.04" of libcuda.so.580.159.04; the version of CUDA where the file does not say.
std::string driverVersion(gpu::Gpu& gpu) {
    const std::string file = std::filesystem::path(gpu.driverFile()).filename().string();
    constexpr std::string_view kLibrary = "libcuda.so.";
    if (file.starts_with(kLibrary) && file.find('.', kLibrary.size()) != std::string::npos)
        return file.substr(kLibrary.size());
    return fmt::format("for CUDA {}", gpu::cudaVersion(gpu.api()));
}

std::string gpuAndDriver(gpu::Gpu& gpu) {
    return fmt::format("{}, driver {}", gpu.info().name, driverVersion(gpu));
}

void runOne(Session& session, const Measurement& m) {
    session.begin(m.name);
    try {
        m.run(session);
    } catch (const Error& error) {
        session.undecided(error.what());
    }
}

std::string shownValue(const Figure& f) {
    if (!f.text.empty()) return f.text;
    return f.value == std::floor(f.value) ? fmt::format("{:.0f}", f.value) : fmt::format("{:.6g}", f.value);
}

std::optional<double> numberIn(const std::string& text) {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [read, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && read == end ? std::optional(number) : std::nullopt;
}

/// By how much the new profile differs from the old one: 0 where it does not, infinite where either is no number.
double change(const Figure& f) {
    if (f.written.empty() || f.written == f.was) return 0;
    const std::optional<double> was = numberIn(f.was), written = numberIn(f.written);
    if (!was || !written || *was == 0) return std::numeric_limits<double>::infinity();
    return std::abs(*written / *was - 1);
}

}  // namespace

arch::DeviceProfile nearestProfile(const gpu::DeviceInfo& info) {
    return arch::nearestProfile(info.computeMajor, info.computeMinor, info.sms);
}

Calibration calibrate(gpu::Gpu& gpu, const Options& options, Listener& listener) {
    expectKnown(options.only);
    Calibration result;
    result.profile = options.base.empty() ? nearestProfile(gpu.info()) : arch::findProfile(options.base);
    result.base = result.profile.name;
    Session session(gpu, result.profile, options, listener);
    double done = 0;
    const auto all = static_cast<double>(std::count_if(measurements().begin(), measurements().end(),
                                                       [&](const Measurement& m) { return wants(options, m.name); }));
    for (const Measurement& m : measurements()) {
        if (!wants(options, m.name)) continue;
        listener.measuring(std::string(m.name), done++ / all);
        if (session.gpuSeconds() > options.limitSeconds) {
            session.begin(m.name);
            session.undecided(fmt::format("{:.0f} s of GPU time are spent", options.limitSeconds));
            continue;
        }
        runOne(session, m);
    }
    result.figures = std::move(session.figures());
    result.undecided = std::move(session.missing());
    result.gpuSeconds = session.gpuSeconds();
    overlay(result.profile, result.figures, gpuAndDriver(gpu));
    return result;
}

Result measurementList() {
    Result r;
    r.title = "Measurements of bulkhead calibrate, in the order in which they are made";
    r.columns = {{"name", ""}, {"parameters", ""}, {"microbenchmark", ""}, {"figures", ""}};
    for (const Measurement& m : measurements())
        r.add({std::string(m.name), std::string(m.keys), std::string(m.benchmark), std::string(m.derivation)});
    return r;
}

Result figureTable(const Calibration& c) {
    Result r;
    r.columns = {{"figure", ""}, {"was", ""}, {"measured", ""}, {"written", ""},
                 {"unit", ""},   {"by", ""},  {"note", ""}};
    std::vector<Figure> figures = c.figures;
    std::stable_sort(figures.begin(), figures.end(),
                     [](const Figure& a, const Figure& b) { return change(a) > change(b); });
    for (const Figure& f : figures)
        r.add({f.key.empty() ? f.name : f.key, f.was, shownValue(f), f.written, f.unit, f.measurement,
               f.refused.empty() ? f.note : "not written: " + f.refused});
    const auto written =
        std::count_if(figures.begin(), figures.end(), [](const Figure& f) { return !f.written.empty(); });
    const auto changed = std::count_if(figures.begin(), figures.end(), [](const Figure& f) { return change(f) > 0; });
    r.question = fmt::format("In which parameters does this GPU differ from {}?", c.base);
    r.answer = fmt::format("In {} of {} that were measured{}.", changed, written,
                           changed == 0 ? ""
                                        : fmt::format(", most in {}: {}, not {}", figures.front().key,
                                                      figures.front().written, figures.front().was));
    r.reading =
        "was is the value of the profile that it began with, written that of the new one. What differs most comes "
        "first.";
    if (!c.undecided.empty()) {
        std::vector<std::string> names;
        for (const Undecided& u : c.undecided) names.push_back(u.measurement);
        r.caveats.push_back(fmt::format("Not told, and left as they were: {}.", fmt::join(names, ", ")));
    }
    return r;
}

}  // namespace bulkhead::calibrate
