#include <fmt/format.h>

#include <bit>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "arch/device_profile.h"
#include "arch/profile_schema.h"
#include "base/error.h"
#include "base/phrases.h"
#include "base/printable.h"
#include "base/result.h"
#include "base/schema.h"
#include "cli/common_options.h"
#include "cli/import_configuration.h"
#include "cli/map_pictures.h"
#include "cli/verbs.h"
#include "gpu/capabilities.h"
#include "gpu/device_info.h"
#include "gpu/real_driver.h"
#include "report/report.h"

namespace bulkhead::cli {

namespace {

using arch::AddressMap;
using arch::DeviceProfile;
using arch::Digit;

struct GpusOptions {
    std::string name;
    std::string json, html;
    std::vector<std::string> changes;
    ImportRequest import;
    bool sources = false, schema = false, gpgpusim = false;
};

std::string size(std::int64_t bytes) {
    const auto n = static_cast<double>(bytes);
    if (bytes >= std::int64_t{1} << 30) return fmt::format("{:.4g} GB", n / (1 << 30));
    if (bytes >= 1 << 20) return fmt::format("{:.4g} MB", n / (1 << 20));
    return fmt::format("{:.4g} KB", n / (1 << 10));
}

/// What kind of function spreads addresses over slices and sets.
std::string hashKind(const AddressMap& map) {
    bool parity = false, modulus = false, table = false;
    for (const auto* digits : {&map.roles().slice, &map.roles().set})
        for (const Digit& d : *digits) {
            modulus = modulus || d.modulus != 0;
            table = table || !d.table.empty();
            for (std::uint64_t bits : d.bits) parity = parity || !std::has_single_bit(bits);
        }
    std::string kind = parity ? "xor" : "linear";
    if (modulus) kind += ", mod";
    if (table) kind += ", table";
    return kind;
}

Result listed() {
    Result r;
    r.columns = {{"name", ""}, {"SMs", ""},           {"L2", ""},           {"slices", ""},
                 {"DRAM", ""}, {"bandwidth", "GB/s"}, {"address hash", ""}, {"description", ""}};
    for (const std::string& name : arch::profileNames()) {
        const DeviceProfile p = arch::findProfile(name);
        r.add({p.name, p.sm.count, size(p.l2.bytes), std::int64_t{p.map.slices()}, size(p.dram.bytes), p.dramGBps(),
               hashKind(p.map), p.description});
    }
    return r;
}

/// Adds the GPUs of this machine; returns why there are none, or nothing.
std::string addReal(Result& r) {
    try {
        const driver::DriverApi& api = gpu::realDriver();
        const std::vector<gpu::DeviceInfo> devices = gpu::listDevices(api);
        if (devices.empty()) return "the NVIDIA driver found none";
        for (std::size_t i = 0; i < devices.size(); ++i) {
            const gpu::DeviceInfo& d = devices[i];
            // Two transfers a clock.
            const double peak = d.memoryMHz * 2e6 * d.memoryBusBits / 8 / 1e9;
            r.add({fmt::format("cuda:{}", i), std::int64_t{d.sms}, size(static_cast<std::int64_t>(d.l2Bytes)), Value(),
                   size(static_cast<std::int64_t>(d.memoryBytes)), peak, Value(),
                   fmt::format("{}, compute capability {}.{}, CUDA {}", d.name, d.computeMajor, d.computeMinor,
                               gpu::cudaVersion(api))});
        }
        return {};
    } catch (const Error& e) {
        return e.what();
    }
}

std::string bitList(std::uint64_t bits) {
    std::string list;
    for (; bits != 0; bits &= bits - 1) list += fmt::format("{}{}", list.empty() ? "" : ",", std::countr_zero(bits));
    return list;
}

std::string digitText(const Digit& d) {
    std::string text;
    bool range = d.bits.size() > 1;
    for (std::size_t i = 0; i < d.bits.size(); ++i)
        range = range && std::has_single_bit(d.bits[i]) && (i == 0 || d.bits[i] == d.bits[i - 1] << 1);
    if (range) {
        text = fmt::format("{}..{}", std::countr_zero(d.bits.front()), std::countr_zero(d.bits.back()));
    } else {
        for (std::uint64_t bits : d.bits) text += fmt::format("{}{}", text.empty() ? "" : " | ", bitList(bits));
    }
    if (d.divisor != 1) text += fmt::format("  / {}", d.divisor);
    if (d.modulus != 0) text += fmt::format("  mod {}", d.modulus);
    if (!d.table.empty()) text += fmt::format("  through a table of {}", d.table.size());
    return text;
}

std::string mapText(const DeviceProfile& p, bool sources) {
    const AddressMap& map = p.map;
    const auto& roles = map.roles();
    std::string text = fmt::format(
        "\naddress map: {} slices of {} sets, {} channels of {} banks\n"
        "(each bit is the XOR of the address bits listed, bit 0 first; of several lines, the first is least "
        "significant)\n",
        map.slices(), map.setsPerSlice(), map.channels(), map.banksPerChannel());
    const auto add = [&](const char* role, const std::vector<Digit>& digits) {
        for (std::size_t i = 0; i < digits.size(); ++i)
            text += fmt::format("  {:<6}{}\n", i == 0 ? role : "", digitText(digits[i]));
        if (digits.empty()) text += fmt::format("  {:<6}always 0\n", role);
    };
    add("slice", roles.slice);
    add("set", roles.set);
    add("bank", roles.bank);
    add("row", roles.row);
    const std::string& from = p.provenance.at("map");
    text += fmt::format("  source: {}\n\ncolors by page size:", printable(sources ? from : arch::sourceKind(from)));
    for (Bytes page : {1_KiB, 2_KiB, 4_KiB, 8_KiB, 16_KiB, 32_KiB, 64_KiB, 2_MiB})
        text += fmt::format("  {} {}", size(static_cast<std::int64_t>(page)), map.colors(page));
    return text + "\n";
}

std::string heading(const DeviceProfile& p) {
    return fmt::format("{}: {} ({:.1f} GB/s)", p.name, p.description, p.dramGBps());
}

/// "3 published, 4 measured, 5 assumed"
std::string sourceCounts(const DeviceProfile& p) {
    std::map<std::string, int, std::less<>> counts;
    for (const auto& [key, from] : p.provenance) ++counts[std::string(arch::sourceKind(from))];
    return fmt::format("{} published, {} measured, {} assumed", counts["published"], counts["measured"],
                       counts["assumed"]);
}

Result parameterTable(const DeviceProfile& p) {
    Result r;
    r.title = heading(p);
    r.columns = {{"key", ""}, {"value", ""}, {"unit", ""}, {"meaning", ""}, {"source", ""}};
    for (const arch::Parameter& f : arch::parameters(p)) r.add({f.key, f.value, f.unit, f.meaning, f.provenance});
    r.question = fmt::format("What is sim:{} simulated with, and where is that from?", p.name);
    r.answer = fmt::format("{}: {}.", counted(r.rows.size(), "parameter"), sourceCounts(p));
    return r;
}

/// For a terminal, where meaning and source do not fit side by side: the kind of the source alone, or the whole
/// source and no meaning.
Result narrowTable(const DeviceProfile& p, bool sources) {
    Result r;
    r.columns = {{"key", ""}, {"value", ""}, {"unit", ""}, {"source", ""}};
    if (!sources) r.columns.push_back({"meaning", ""});
    for (const arch::Parameter& f : arch::parameters(p)) {
        std::vector<Value> row = {f.key, f.value, f.unit};
        if (sources) {
            row.emplace_back(f.provenance);
        } else {
            row.emplace_back(std::string(arch::sourceKind(f.provenance)));
            row.emplace_back(f.meaning);
        }
        r.add(std::move(row));
    }
    return r;
}

std::string shown(const DeviceProfile& p, bool sources) {
    return printable(heading(p)) + "\n\n" + report::text(narrowTable(p, sources)) +
           (sources ? "" : fmt::format("\nsources: {}; --sources shows them in full\n", sourceCounts(p))) +
           mapText(p, sources);
}

std::string page(const DeviceProfile& p) {
    std::vector<Result> results = mapPictures(p);
    results.push_back(parameterTable(p));
    for (Result& r : results) r.provenance = {commandLine(), "sim:" + p.name, std::nullopt, version(), currentDate()};
    return report::html("sim:" + p.name, results);
}

int show(const GpusOptions& options) {
    if (options.schema) {
        writeJson("-", arch::profileSchema());
        return kDone;
    }
    if (options.name.empty()) {
        if (!options.changes.empty()) throw Error("gpus: --set needs the name of a GPU");
        if (!options.html.empty()) throw Error("gpus: --html needs the name of a GPU");
        if (options.sources) throw Error("gpus: --sources needs the name of a GPU");
        Result r = listed();
        const std::string none = addReal(r);
        if (options.json.empty()) {
            writeOutput("-", report::text(r) + (none.empty() ? "" : fmt::format("no real GPU: {}\n", none)));
        } else {
            r.title = "GPUs, simulated and real";
            r.provenance = {commandLine(), "", std::nullopt, version(), currentDate()};
            writeJson(options.json, report::fileJson(r));
        }
        return kDone;
    }
    expectOutputs({options.json, options.html});
    if (!options.html.empty() && !gpu::capabilitiesOf(options.name).settable)
        throw Error("gpus: what lies where on a real GPU has to be measured: bulkhead dissect --gpu {} --html {}",
                    options.name, options.html);
    DeviceProfile p = arch::findProfile(options.name);
    arch::applySettings(p, options.changes);
    if (options.json.empty() && options.html.empty()) writeOutput("-", shown(p, options.sources));
    if (!options.json.empty()) {
        nlohmann::ordered_json json = schemas::kProfile.begin();
        json.update(p.toJson());
        writeJson(options.json, json);
    }
    if (!options.html.empty()) writeOutput(options.html, page(p));
    return kDone;
}

}  // namespace

Action setUpGpus(CommandLine line) {
    const auto options = std::make_shared<GpusOptions>();
    line.option("NAME", options->name, "GPU from the list, or profile file NAME.json [list all]");
    addGpgpusimOption(line, options->gpgpusim);
    addSettings(line, options->changes);
    addJsonOption(line, options->json);
    addHtmlOption(line, options->html, "an HTML report, with the GPU drawn and its address map,");
    line.flag("--sources", options->sources, "show the full source of each parameter");
    line.flag("--schema", options->schema, "print the JSON schema of profiles");
    line.option(
            "--import", options->import.files,
            "make a profile of GPGPU-Sim's or Accel-Sim's gpgpusim.config, with the trace.config given or beside it")
        .typeName("FILE")
        .oneValue();
    line.option("--out", options->import.out, "with --import: write the profile to FILE (- for standard output)")
        .typeName("FILE")
        .showDefault();
    line.option("--base", options->import.base,
                "with --import: profile that has what the configuration lacks [the nearest]")
        .typeName("NAME");
    return [options, line] {
        if (!options->import.files.empty()) {
            refuseGiven(line, {"NAME", "--gpgpusim", "--json", "--html", "--sources", "--schema"}, "gpus --import");
            options->import.settings = options->changes;
            return importConfiguration(options->import);
        }
        refuseGiven(line, {"--out", "--base"}, "gpus without --import");
        if (options->gpgpusim && options->name.empty()) throw Error("gpus: --gpgpusim needs the name of a GPU");
        options->name = gpgpusimVariant(options->name, options->gpgpusim);
        if (options->schema) refuseGiven(line, {"NAME", "--set", "--json", "--html", "--sources"}, "gpus --schema");
        if (!options->json.empty()) refuseGiven(line, {"--sources"}, "gpus --json");
        if (!options->html.empty()) refuseGiven(line, {"--sources"}, "gpus --html");
        return show(*options);
    };
}

}  // namespace bulkhead::cli
