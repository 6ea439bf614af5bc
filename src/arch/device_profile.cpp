#include "arch/device_profile.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>

#include "arch/embedded_profiles.h"
#include "arch/profile_schema.h"
#include "base/error.h"
#include "base/files.h"
#include "base/suggest.h"

namespace bulkhead::arch {

namespace {

using nlohmann::json;
using Profile = DeviceProfile;

constexpr std::int64_t kMost = std::int64_t{1} << 50;  ///< more than any figure can mean
constexpr std::int64_t kMillion = 1'000'000;

/// One figure. Everything that is known of a key is here: reading, writing, `--set`, ranges and display follow.
struct Descriptor {
    enum class Kind { integer, decimal, flag, choice, list };  ///< decimal: kept in millionths

    Kind kind = Kind::integer;
    std::string key, unit, meaning;
    std::int64_t least = 0, most = kMost;
    std::vector<std::string> choices;
    std::string source;  ///< of the value that holds where a profile gives none; empty: it must give one

    std::function<std::int64_t(const Profile&)> get;
    std::function<void(Profile&, std::int64_t)> put;
    std::function<std::vector<std::int64_t>&(Profile&)> list;
};

/// A figure that is one number; `field` gives the member, whatever its type.
template <class F>
Descriptor number(std::string key, std::string unit, std::int64_t least, std::int64_t most, std::string meaning,
                  F field) {
    Descriptor d;
    d.key = std::move(key);
    d.unit = std::move(unit);
    d.meaning = std::move(meaning);
    d.least = least;
    d.most = most;
    d.get = [field](const Profile& p) { return static_cast<std::int64_t>(field(p)); };
    d.put = [field](Profile& p, std::int64_t v) {
        auto& member = field(p);
        member = static_cast<std::remove_reference_t<decltype(member)>>(v);
    };
    return d;
}

/// A figure between 0 and 1.
template <class F>
Descriptor fraction(std::string key, std::string meaning, F field) {
    Descriptor d = number(std::move(key), "", 0, kMillion, std::move(meaning), field);
    d.kind = Descriptor::Kind::decimal;
    return d;
}

Descriptor optional(Descriptor d, std::string source) {
    d.source = std::move(source);
    return d;
}

template <class F>
Descriptor flag(std::string key, std::string meaning, F field) {
    Descriptor d = number(std::move(key), "", 0, 1, std::move(meaning), field);
    d.kind = Descriptor::Kind::flag;
    return d;
}

template <class F>
Descriptor choice(std::string key, std::vector<std::string> choices, std::string meaning, F field) {
    Descriptor d =
        number(std::move(key), "", 0, static_cast<std::int64_t>(choices.size()) - 1, std::move(meaning), field);
    d.kind = Descriptor::Kind::choice;
    d.choices = std::move(choices);
    return d;
}

template <class F>
Descriptor list(std::string key, std::string unit, std::int64_t least, std::int64_t most, std::string meaning,
                F field) {
    Descriptor d;
    d.kind = Descriptor::Kind::list;
    d.key = std::move(key);
    d.unit = std::move(unit);
    d.meaning = std::move(meaning);
    d.least = least;
    d.most = most;
    d.list = field;
    return d;
}

struct OpName {
    OpClass op;
    const char *name, *what;
};
constexpr std::array<OpName, kOpClasses> kOps = {{
    {OpClass::integer, "integer", "integer add, logic, shift, compare, move"},
    {OpClass::integerMul, "integerMul", "integer multiply"},
    {OpClass::integerDiv, "integerDiv", "integer divide and remainder"},
    {OpClass::fp32, "fp32", "32- and 16-bit float add, multiply, fma"},
    {OpClass::fp32Div, "fp32Div", "32-bit div.rn, sqrt.rn, rcp.rn"},
    {OpClass::special, "special", "approximate functions"},
    {OpClass::fp64, "fp64", "64-bit float add, multiply, fma"},
    {OpClass::fp64Div, "fp64Div", "64-bit division and square root"},
    {OpClass::convert, "convert", "conversions"},
    {OpClass::shuffle, "shuffle", "shfl, vote, match, redux"},
    {OpClass::control, "control", "branches, calls, barriers"},
    {OpClass::memory, "memory", "address generation of loads and stores"},
}};

constexpr std::array<std::pair<Unit, const char*>, kUnits> kUnitNames = {{
    {Unit::alu, "alu"},
    {Unit::sfu, "sfu"},
    {Unit::fp64, "fp64"},
    {Unit::ldst, "ldst"},
    {Unit::control, "control"},
}};

#define FIELD(member)      \
    [](auto& p) -> auto& { \
        return p.member;   \
    }

std::vector<Descriptor> makeTable() {
    constexpr std::int64_t kCycles = 1'000'000, kMHz = 100'000, kBytes = std::int64_t{1} << 44;
    std::vector<Descriptor> t = {
        number("compute.major", "", 1, 99, "compute capability, major", FIELD(compute.major)),
        number("compute.minor", "", 0, 99, "compute capability, minor", FIELD(compute.minor)),

        number("clock.coreMHz", "MHz", 1, kMHz, "clock of the SMs", FIELD(clock.coreMHz)),
        number("clock.l2MHz", "MHz", 1, kMHz, "clock of crossbar and L2", FIELD(clock.l2MHz)),
        number("clock.memoryMHz", "MHz", 1, kMHz, "clock of the DRAM timings", FIELD(clock.memoryMHz)),

        number("sm.count", "", 1, 4096, "SMs", FIELD(sm.count)),
        number("sm.schedulers", "", 1, 16, "warp schedulers of an SM", FIELD(sm.schedulers)),
        number("sm.issueWidth", "", 1, 8, "instructions a scheduler may issue from one warp in a cycle",
               FIELD(sm.issueWidth)),
        number("sm.maxThreads", "", 32, 65536, "resident threads of an SM", FIELD(sm.maxThreads)),
        number("sm.maxBlocks", "", 1, 1024, "resident blocks of an SM", FIELD(sm.maxBlocks)),
        number("sm.maxThreadsPerBlock", "", 32, 65536, "threads of a block", FIELD(sm.maxThreadsPerBlock)),
        number("sm.registers", "", 32, 1 << 24, "32-bit registers of an SM", FIELD(sm.registers)),
        number("sm.registerGranularity", "", 1, 1 << 16, "registers are given to a warp in multiples of this",
               FIELD(sm.registerGranularity)),
        number("sm.maxRegistersPerThread", "", 1, 1024, "registers of a thread", FIELD(sm.maxRegistersPerThread)),
        number("sm.sharedBytes", "B", 0, kBytes, "most shared memory an SM can offer", FIELD(sm.sharedBytes)),
        number("sm.maxSharedPerBlock", "B", 0, kBytes, "most shared memory of a block", FIELD(sm.maxSharedPerBlock)),
        number("sm.sharedGranularity", "B", 1, kBytes, "shared memory is given in multiples of this",
               FIELD(sm.sharedGranularity)),
        number("sm.onChipBytes", "B", 0, kBytes, "memory that L1D and shared memory divide; 0 = they are separate",
               FIELD(sm.onChipBytes)),
        list("sm.carveouts", "B", 0, kBytes, "sizes that shared memory can have where it divides with L1D",
             [](Profile& p) -> std::vector<std::int64_t>& { return p.sm.carveouts; }),
    };

    for (const auto& [unit, name] : kUnitNames)
        t.push_back(number(
            fmt::format("unit.{}", name), "", 1, 1024,
            fmt::format("{} units of an SM", name), [i = static_cast<int>(unit)](auto& p) -> auto& {
                return p.unitCount[i];
            }));
    for (const OpName& op : kOps) {
        const int i = static_cast<int>(op.op);
        t.push_back(number(
            fmt::format("op.{}.interval", op.name), "cycles", 1, kCycles,
            fmt::format("a unit is busy with one warp instruction: {}", op.what), [i](auto& p) -> auto& {
                return p.interval[i];
            }));
        t.push_back(number(
            fmt::format("op.{}.latency", op.name), "cycles", 1, kCycles,
            fmt::format("from issue to a dependent issue: {}", op.what), [i](auto& p) -> auto& {
                return p.latency[i];
            }));
    }

    const std::vector<Descriptor> rest = {
        number("shared.banks", "", 1, 64, "shared-memory banks", FIELD(shared.banks)),
        number("shared.bankBytes", "B", 1, 64, "width of a bank", FIELD(shared.bankBytes)),
        number("shared.latency", "cycles", 1, kCycles, "load-to-use, no conflict", FIELD(shared.latency)),

        flag("l1.cachesGlobal", "plain ld.global goes through L1D", FIELD(l1.cachesGlobal)),
        number("l1.bytes", "B", 0, kBytes, "L1D of an SM (the largest, where it divides with shared memory)",
               FIELD(l1.bytes)),
        number("l1.lineBytes", "B", 32, 4096, "line", FIELD(l1.lineBytes)),
        number("l1.sectorBytes", "B", 32, 4096, "sector: what one miss fetches", FIELD(l1.sectorBytes)),
        number("l1.ways", "", 1, 1024, "associativity", FIELD(l1.ways)),
        choice("l1.setHash", {"linear", "xor"}, "set index: address bits, or XOR-folded", FIELD(l1.setHash)),
        choice("l1.allocate", {"miss", "fill"}, "a line is taken at the miss or when the data come",
               FIELD(l1.allocate)),
        flag("l1.localWriteBack", "local stores stay in L1D (global stores always write through)",
             FIELD(l1.localWriteBack)),
        number("l1.hitLatency", "cycles", 1, kCycles, "load-to-use", FIELD(l1.hitLatency)),
        number("l1.mshrs", "", 1, 65536, "outstanding missed lines", FIELD(l1.mshrs)),
        number("l1.mshrMerges", "", 1, 65536, "requests that one outstanding line can hold", FIELD(l1.mshrMerges)),
        number("l1.queue", "", 1, 65536, "memory instructions waiting in front of L1D", FIELD(l1.queue)),

        number("constant.bytes", "B", 64, kBytes, "constant cache of an SM", FIELD(constant.bytes)),
        number("constant.lineBytes", "B", 4, 4096, "line", FIELD(constant.lineBytes)),
        number("constant.ways", "", 1, 1024, "associativity", FIELD(constant.ways)),
        number("constant.hitLatency", "cycles", 1, kCycles, "load-to-use", FIELD(constant.hitLatency)),

        number("crossbar.requestBytesPerCycle", "B", 1, 65536, "port of an SM or a slice, requests, per L2 cycle",
               FIELD(crossbar.requestBytesPerCycle)),
        number("crossbar.responseBytesPerCycle", "B", 1, 65536, "port of an SM or a slice, responses, per L2 cycle",
               FIELD(crossbar.responseBytesPerCycle)),
        number("crossbar.smQueue", "", 1, 65536, "requests an SM can hold before its port", FIELD(crossbar.smQueue)),
        number("crossbar.sliceQueue", "", 1, 65536, "requests a slice can hold before its tags",
               FIELD(crossbar.sliceQueue)),

        number("l2.bytes", "B", 1, kBytes, "L2, all slices", FIELD(l2.bytes)),
        number("l2.lineBytes", "B", 32, 4096, "line", FIELD(l2.lineBytes)),
        number("l2.sectorBytes", "B", 32, 4096, "sector: what one miss fetches", FIELD(l2.sectorBytes)),
        number("l2.ways", "", 1, 4096, "associativity", FIELD(l2.ways)),
        number("l2.hitLatency", "cycles", 1, kCycles, "load-to-use, core clock", FIELD(l2.hitLatency)),
        number("l2.mshrs", "", 1, 65536, "outstanding missed lines of a slice", FIELD(l2.mshrs)),
        number("l2.mshrMerges", "", 1, 65536, "requests that one outstanding line can hold", FIELD(l2.mshrMerges)),
        number("l2.writeRetention", "", 0, kCycles,
               "a line brought in by a write counts as this many set accesses younger", FIELD(l2.writeRetention)),
        number("l2.responseQueue", "", 1, 65536, "responses a slice can hold before its port", FIELD(l2.responseQueue)),
        number("l2.atomicInterval", "L2 cycles", 1, kCycles, "a slice is busy with one atomic sector",
               FIELD(l2.atomicInterval)),
        number("l2.sides", "", 1, 64, "parts that slices and SMs divide over", FIELD(l2.sides)),
        number("l2.farLatency", "cycles", 0, kCycles, "what an atomic or a write to the other side adds",
               FIELD(l2.farLatency)),

        number("dram.bytes", "B", 1 << 20, kBytes, "device memory", FIELD(dram.bytes)),
        number("dram.latency", "cycles", 1, kCycles, "load-to-use, core clock, bank precharged", FIELD(dram.latency)),
        number("dram.rowBytes", "B", 64, 1 << 20, "row of a bank", FIELD(dram.rowBytes)),
        number("dram.burstBytes", "B", 1, 4096, "moved by one column command", FIELD(dram.burstBytes)),
        number("dram.queue", "", 1, 65536, "requests a channel reorders (FR-FCFS)", FIELD(dram.queue)),
        optional(number("dram.ageLimit", "cycles", 1, kCycles,
                        "after which a request waits for no more hits of another row", FIELD(dram.ageLimit)),
                 "assumed: controllers bound what first-ready adds to a wait; by how much is not published"),
        number("dram.tRCD", "memory cycles", 1, 10000, "activate to column command", FIELD(dram.tRCD)),
        number("dram.tRP", "memory cycles", 1, 10000, "precharge to activate", FIELD(dram.tRP)),
        number("dram.tCL", "memory cycles", 1, 10000, "column read to data", FIELD(dram.tCL)),
        number("dram.tRAS", "memory cycles", 1, 10000, "activate to precharge", FIELD(dram.tRAS)),
        number("dram.tCCD", "memory cycles", 1, 10000, "column command to the next", FIELD(dram.tCCD)),
        number("dram.tWR", "memory cycles", 1, 10000, "end of write data to precharge", FIELD(dram.tWR)),

        number("memory.pageBytes", "B", 4096, std::int64_t{1} << 30, "page", FIELD(memory.pageBytes)),
        choice("memory.placement", {"contiguous", "scattered"}, "how pages are placed in device memory",
               FIELD(memory.placement)),
        number("memory.seed", "", 0, kMost, "of scattered placement", FIELD(memory.seed)),
        number("memory.reservedBytes", "B", 0, kBytes, "memory that is never given out", FIELD(memory.reservedBytes)),

        number("sharing.quantumUs", "us", 1, 10'000'000, "time slice of a context while another waits",
               FIELD(sharing.quantumUs)),
        number("sharing.switchUs", "us", 0, 10'000'000, "cost of changing the context", FIELD(sharing.switchUs)),

        number("hostLink.mbPerS", "MB/s", 1, 10'000'000, "copies from and to the host, each way",
               FIELD(hostLink.mbPerS)),

        number("launch.latency", "cycles", 0, 100'000'000, "from launch to the first block", FIELD(launch.latency)),
        number("launch.blockInterval", "cycles", 1, kCycles, "between two blocks placed", FIELD(launch.blockInterval)),

        optional(choice("ciao.instructions", {"warps", "threads"},
                        "what CIAO's epochs count: warp instructions, or one for each thread (scores count warps')",
                        FIELD(ciao.instructions)),
                 "assumed: CIAO (IPDPS 2018) counts threads' in Table II (APKI) and Figure 9 (IPC)"),
        optional(number("ciao.vtaTags", "", 1, 1024, "tags of a warp in CIAO's victim tag array", FIELD(ciao.vtaTags)),
                 "published: CIAO (IPDPS 2018), Table I"),
        optional(number("ciao.counterBits", "", 1, 7, "width of the counters in CIAO's interference list",
                        FIELD(ciao.counterBits)),
                 "published: CIAO (IPDPS 2018), III-A"),
        optional(fraction("ciao.highCutoff", "score above which an interfered warp has another isolated or stalled",
                          FIELD(ciao.highCutoff)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(fraction("ciao.lowCutoff", "score down to which it keeps the other isolated or stalled",
                          FIELD(ciao.lowCutoff)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(number("ciao.highEpoch", "instructions", 1, kMost, "between two looks at the high cut-off",
                        FIELD(ciao.highEpoch)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(number("ciao.lowEpoch", "instructions", 1, kMost, "between two looks at the low cut-off",
                        FIELD(ciao.lowEpoch)),
                 "published: CIAO (IPDPS 2018), IV-A"),
        optional(
            number("ccws.vtaTags", "", 1, 1024, "tags of a warp in the victim tag array of CCWS", FIELD(ccws.vtaTags)),
            "published: Rogers et al. (MICRO 2012), twice CIAO's by CIAO (IPDPS 2018), V-F"),
        optional(number("ccws.baseScore", "", 1, 1'000'000, "lost-locality score of a warp that has lost none",
                        FIELD(ccws.baseScore)),
                 "published: Rogers et al. (MICRO 2012) (cited from memory, not looked up)"),
        optional(
            number("ccws.throttle", "", 1, 1'000'000, "K of the lost-locality detected score", FIELD(ccws.throttle)),
            "published: Rogers et al. (MICRO 2012) (cited from memory, not looked up)"),
        optional(number("ccws.interval", "cycles", 1, kCycles, "between two rankings of the warps by score",
                        FIELD(ccws.interval)),
                 "assumed: ranking 48 scores takes a sorter about as long"),
        optional(
            number("pcal.window", "cycles", 1, kCycles, "over which statPCAL measures bandwidth", FIELD(pcal.window)),
            "assumed: longer than a load takes, shorter than a phase of a kernel"),
        optional(
            fraction("pcal.busy", "share of the peak from which bandwidth is not idle to statPCAL", FIELD(pcal.busy)),
            "assumed: under-utilised, as CIAO (IPDPS 2018), V-B, has it, is less than half used"),
    };
    t.insert(t.end(), rest.begin(), rest.end());
    return t;
}

#undef FIELD

const std::vector<Descriptor>& table() {
    static const std::vector<Descriptor> all = makeTable();
    return all;
}

const Descriptor* findKey(std::string_view key) {
    const auto& all = table();
    const auto it = std::find_if(all.begin(), all.end(), [&](const Descriptor& d) { return d.key == key; });
    return it == all.end() ? nullptr : &*it;
}

std::vector<std::string> allKeys() {
    std::vector<std::string> keys;
    for (const Descriptor& d : table()) keys.push_back(d.key);
    return keys;
}

std::vector<std::int64_t>& listOf(const Descriptor& d, const Profile& p) {
    return d.list(const_cast<Profile&>(p));  // the accessor only names the member
}

double inUnits(std::int64_t millionths) {
    return static_cast<double>(millionths) / static_cast<double>(kMillion);
}

std::string asText(const Descriptor& d, const Profile& p) {
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return std::to_string(d.get(p));
        case Descriptor::Kind::decimal:
            return fmt::format("{}", inUnits(d.get(p)));
        case Descriptor::Kind::flag:
            return d.get(p) != 0 ? "true" : "false";
        case Descriptor::Kind::choice:
            return d.choices[static_cast<std::size_t>(d.get(p))];
        case Descriptor::Kind::list:
            return fmt::format("{}", fmt::join(listOf(d, p), ","));
    }
    return {};
}

json asJson(const Descriptor& d, const Profile& p) {
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return d.get(p);
        case Descriptor::Kind::decimal:
            return inUnits(d.get(p));
        case Descriptor::Kind::flag:
            return d.get(p) != 0;
        case Descriptor::Kind::choice:
            return asText(d, p);
        case Descriptor::Kind::list:
            return listOf(d, p);
    }
    return {};
}

std::string wanted(const Descriptor& d) {
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return d.most == kMost ? fmt::format("an integer of at least {}", d.least)
                                   : fmt::format("an integer from {} to {}", d.least, d.most);
        case Descriptor::Kind::decimal:
            return fmt::format("a number from {} to {}", inUnits(d.least), inUnits(d.most));
        case Descriptor::Kind::flag:
            return "true or false";
        case Descriptor::Kind::choice:
            return fmt::format("{}", fmt::join(d.choices, " or "));
        case Descriptor::Kind::list:
            return fmt::format("a list of integers from {} to {}", d.least, d.most);
    }
    return {};
}

/// A value from a file or a person, put into the profile. False if it is not what the descriptor wants.
bool assign(const Descriptor& d, Profile& p, const json& value) {
    const auto fits = [&](const json& v) {
        if (!v.is_number_integer()) return false;
        if (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(kMost)) return false;
        return v.get<std::int64_t>() >= d.least && v.get<std::int64_t>() <= d.most;
    };
    switch (d.kind) {
        case Descriptor::Kind::integer:
            if (!fits(value)) return false;
            d.put(p, value.get<std::int64_t>());
            return true;
        case Descriptor::Kind::decimal: {
            if (!value.is_number()) return false;
            const double millionths = std::round(value.get<double>() * static_cast<double>(kMillion));
            if (!(millionths >= static_cast<double>(d.least) && millionths <= static_cast<double>(d.most)))
                return false;
            d.put(p, static_cast<std::int64_t>(millionths));
            return true;
        }
        case Descriptor::Kind::flag:
            if (!value.is_boolean()) return false;
            d.put(p, value.get<bool>() ? 1 : 0);
            return true;
        case Descriptor::Kind::choice: {
            if (!value.is_string()) return false;
            const auto it = std::find(d.choices.begin(), d.choices.end(), value.get<std::string>());
            if (it == d.choices.end()) return false;
            d.put(p, it - d.choices.begin());
            return true;
        }
        case Descriptor::Kind::list: {
            if (!value.is_array() || !std::all_of(value.begin(), value.end(), fits)) return false;
            d.list(p) = value.get<std::vector<std::int64_t>>();
            return true;
        }
    }
    return false;
}

/// "48", or "48K" of a figure in bytes. Null if it is neither.
json parseInteger(std::string_view text, bool isBytes) {
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end == text.data()) return nullptr;
    std::string_view suffix = text.substr(static_cast<std::size_t>(end - text.data()));
    if (suffix.empty()) return n;
    const std::size_t power = std::string_view("KMG").find(suffix.front());
    if (!isBytes || suffix.size() > 1 || power == std::string_view::npos || n > kMost >> 30 || n < 0) return nullptr;
    return n << (10 * (power + 1));
}

json parseDecimal(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? json(value) : json(nullptr);
}

json parseValue(const Descriptor& d, std::string_view text) {
    const bool isBytes = d.unit == "B";
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return parseInteger(text, isBytes);
        case Descriptor::Kind::decimal:
            return parseDecimal(text);
        case Descriptor::Kind::flag:
            return text == "true" ? json(true) : text == "false" ? json(false) : json(nullptr);
        case Descriptor::Kind::choice:
            return std::string(text);
        case Descriptor::Kind::list: {
            json values = json::array();
            while (!text.empty()) {
                const std::size_t comma = std::min(text.find(','), text.size());
                values.push_back(parseInteger(text.substr(0, comma), isBytes));
                text.remove_prefix(std::min(comma + 1, text.size()));
            }
            return values;
        }
    }
    return nullptr;
}

bool hasSource(std::string_view from) {
    for (std::string_view kind : {"published: ", "measured: ", "assumed: "})
        if (from.starts_with(kind) && from.size() > kind.size()) return true;
    return false;
}

std::string readSource(const json& figure, const std::string& key, const std::string& where) {
    const auto from = figure.find("from");
    if (from == figure.end() || !from->is_string() || !hasSource(from->get_ref<const std::string&>()))
        throw Error(
            "{}: {}: \"from\" must say where the figure comes from: \"published: ...\", \"measured: ...\" or "
            "\"assumed: ...\"",
            where, key);
    return from->get<std::string>();
}

/// {"value": ..., "from": ...}: the form of every figure.
const json& readFigure(const json& figure, const std::string& key, const std::string& where) {
    if (!figure.is_object() || !figure.contains("value"))
        throw Error("{}: {}: must be {{\"value\": ..., \"from\": ...}}", where, key);
    for (const auto& [name, unused] : figure.items())
        if (name != "value" && name != "from")
            throw Error("{}: unknown key {}.{} (a figure has value and from)", where, key, name);
    return figure["value"];
}

/// Walks the nested objects of a profile down to the figures.
void readGroup(const json& group, const std::string& prefix, Profile& p, const std::string& where) {
    for (const auto& [name, value] : group.items()) {
        const std::string key = prefix.empty() ? name : prefix + "." + name;
        if (const Descriptor* d = findKey(key)) {
            const json& figure = readFigure(value, key, where);
            if (!assign(*d, p, figure))
                throw Error("{}: {} = {}: must be {}", where, key, figure.dump(-1, ' ', true), wanted(*d));
            p.provenance[key] = readSource(value, key, where);
            continue;
        }
        const auto& all = table();
        const bool isGroup =
            std::any_of(all.begin(), all.end(), [&](const Descriptor& d) { return d.key.starts_with(key + "."); });
        if (!isGroup) throw Error("{}: unknown key {}{}", where, key, didYouMean(key, allKeys()));
        if (!value.is_object()) throw Error("{}: {}: must be an object of figures", where, key);
        readGroup(value, key, p, where);
    }
}

std::string readName(const json& value, const char* key, const std::string& where) {
    if (!value.contains(key)) throw Error("{}: {} is missing", where, key);
    if (!value[key].is_string() || value[key].get_ref<const std::string&>().empty())
        throw Error("{}: {}: must be text", where, key);
    return value[key].get<std::string>();
}

/// Refuses a figure: names profile, key and value, and says what would be right.
template <class... Args>
[[noreturn]] void refuse(const Profile& p, std::string_view key, fmt::format_string<Args...> format, Args&&... args) {
    const Descriptor* d = findKey(key);
    const std::string value = d == nullptr ? std::string() : " = " + asText(*d, p);
    throw Error("profile {}: {}{}: {}", p.name, key, value, fmt::format(format, std::forward<Args>(args)...));
}

bool isPowerOfTwo(std::int64_t n) {
    return n > 0 && std::has_single_bit(static_cast<std::uint64_t>(n));
}

void checkRanges(const Profile& p) {
    for (const Descriptor& d : table()) {
        const bool fits = d.kind == Descriptor::Kind::list
                              ? std::all_of(listOf(d, p).begin(), listOf(d, p).end(),
                                            [&](std::int64_t v) { return v >= d.least && v <= d.most; })
                              : d.get(p) >= d.least && d.get(p) <= d.most;
        if (!fits) refuse(p, d.key, "must be {}", wanted(d));
    }
}

void checkLines(const Profile& p) {
    const auto check = [&](std::string_view level, std::int64_t lineBytes, std::int64_t sectorBytes) {
        if (!isPowerOfTwo(lineBytes)) refuse(p, fmt::format("{}.lineBytes", level), "must be a power of two");
        if (!isPowerOfTwo(sectorBytes)) refuse(p, fmt::format("{}.sectorBytes", level), "must be a power of two");
        if (sectorBytes > lineBytes)
            refuse(p, fmt::format("{}.sectorBytes", level), "must be at most {}.lineBytes = {}", level, lineBytes);
    };
    check("l1", p.l1.lineBytes, p.l1.sectorBytes);
    check("l2", p.l2.lineBytes, p.l2.sectorBytes);
    // The simulator keeps a bit a byte of a line in 128 bits.
    if (p.l2.lineBytes > 128) refuse(p, "l2.lineBytes", "must be at most 128");
    if (p.l1.lineBytes != p.l2.lineBytes) refuse(p, "l1.lineBytes", "must equal l2.lineBytes = {}", p.l2.lineBytes);
    if (p.l2.lineBytes % p.l1.sectorBytes != 0)
        refuse(p, "l1.sectorBytes", "must divide l2.lineBytes = {}", p.l2.lineBytes);
    if (!isPowerOfTwo(p.constant.lineBytes)) refuse(p, "constant.lineBytes", "must be a power of two");
    if (p.constant.bytes % (p.constant.lineBytes * p.constant.ways) != 0)
        refuse(p, "constant.bytes", "must be a multiple of constant.lineBytes x constant.ways = {}",
               p.constant.lineBytes * p.constant.ways);
}

void checkSm(const Profile& p) {
    const auto& sm = p.sm;
    if (sm.maxThreads % 32 != 0) refuse(p, "sm.maxThreads", "must be a multiple of the 32 threads of a warp");
    if (sm.maxThreads > 2048) refuse(p, "sm.maxThreads", "must be at most 2048: an SM has up to 64 warps");
    if (sm.maxThreadsPerBlock % 32 != 0)
        refuse(p, "sm.maxThreadsPerBlock", "must be a multiple of the 32 threads of a warp");
    if (sm.maxThreadsPerBlock > sm.maxThreads)
        refuse(p, "sm.maxThreadsPerBlock", "must be at most sm.maxThreads = {}", sm.maxThreads);
    if (sm.registers % sm.registerGranularity != 0)
        refuse(p, "sm.registers", "must be a multiple of sm.registerGranularity = {}", sm.registerGranularity);
    if (sm.registers < 32 * sm.maxRegistersPerThread)
        refuse(p, "sm.registers", "must hold one warp of sm.maxRegistersPerThread = {} registers: at least {}",
               sm.maxRegistersPerThread, 32 * sm.maxRegistersPerThread);
    if (sm.maxSharedPerBlock > sm.sharedBytes)
        refuse(p, "sm.maxSharedPerBlock", "must be at most sm.sharedBytes = {}", sm.sharedBytes);
    if (!isPowerOfTwo(p.shared.banks)) refuse(p, "shared.banks", "must be a power of two");
    if (!isPowerOfTwo(p.shared.bankBytes)) refuse(p, "shared.bankBytes", "must be a power of two");
    if (sm.count % p.l2.sides != 0) refuse(p, "l2.sides", "must divide sm.count = {}", sm.count);

    const std::int64_t line = p.l1.lineBytes * p.l1.ways;
    const auto checkL1 = [&](std::string_view key, std::int64_t bytes) {
        if (bytes % line != 0)
            refuse(p, key, "an L1D of {} B is not a multiple of l1.lineBytes x l1.ways = {}", bytes, line);
    };
    checkL1("l1.bytes", p.l1.bytes);
    if (p.l1.cachesGlobal && p.l1.bytes == 0) refuse(p, "l1.cachesGlobal", "must be false where l1.bytes is 0");
    if (sm.onChipBytes == 0) {
        if (!sm.carveouts.empty()) refuse(p, "sm.carveouts", "must be empty where sm.onChipBytes is 0");
        return;
    }
    if (sm.carveouts.empty()) refuse(p, "sm.carveouts", "must list at least one size where sm.onChipBytes is not 0");
    if (!std::is_sorted(sm.carveouts.begin(), sm.carveouts.end(), std::less_equal<>()))
        refuse(p, "sm.carveouts", "must rise");
    if (sm.carveouts.back() != sm.sharedBytes)
        refuse(p, "sm.carveouts", "the largest must be sm.sharedBytes = {}", sm.sharedBytes);
    if (sm.carveouts.back() >= sm.onChipBytes)
        refuse(p, "sm.carveouts", "must leave something of sm.onChipBytes = {} to L1D", sm.onChipBytes);
    for (std::int64_t carveout : sm.carveouts) checkL1("sm.carveouts", sm.onChipBytes - carveout);
    if (p.l1.bytes != sm.onChipBytes - sm.carveouts.front())
        refuse(p, "l1.bytes", "must be sm.onChipBytes less the smallest of sm.carveouts: {}",
               sm.onChipBytes - sm.carveouts.front());
}

void checkL2(const Profile& p) {
    const std::int64_t slices = p.map.slices(), sets = p.map.setsPerSlice();
    // The products fit: slices and sets are below 2^32, but ways x line may take them over 2^63.
    const double expected =
        static_cast<double>(slices) * static_cast<double>(sets) * static_cast<double>(p.l2.ways * p.l2.lineBytes);
    if (expected != static_cast<double>(p.l2.bytes))
        refuse(p, "l2.bytes", "must be {} slices x {} sets x {} ways x {} B = {:.0f}", slices, sets, p.l2.ways,
               p.l2.lineBytes, expected);
    if (slices % p.l2.sides != 0) refuse(p, "l2.sides", "must divide the {} slices of the map", slices);
    if (p.l2.sides == 1 && p.l2.farLatency != 0) refuse(p, "l2.farLatency", "must be 0 where l2.sides is 1");
}

void checkPolicies(const Profile& p) {
    if (p.ciao.lowCutoff > p.ciao.highCutoff)
        refuse(p, "ciao.lowCutoff", "must be at most ciao.highCutoff = {}", inUnits(p.ciao.highCutoff));
}

void checkDram(const Profile& p) {
    const auto& dram = p.dram;
    if (!isPowerOfTwo(dram.rowBytes)) refuse(p, "dram.rowBytes", "must be a power of two");
    if (!isPowerOfTwo(dram.burstBytes)) refuse(p, "dram.burstBytes", "must be a power of two");
    if (dram.burstBytes > dram.rowBytes)
        refuse(p, "dram.burstBytes", "must be at most dram.rowBytes = {}", dram.rowBytes);
    if (p.l2.sectorBytes % dram.burstBytes != 0)
        refuse(p, "dram.burstBytes", "must divide l2.sectorBytes = {}", p.l2.sectorBytes);
    if (dram.tRAS < dram.tRCD) refuse(p, "dram.tRAS", "must be at least dram.tRCD = {}", dram.tRCD);
    const std::int64_t access = dram.tRCD + dram.tCL + dram.tCCD;
    const std::int64_t least = p.l2.hitLatency + (access * p.clock.coreMHz + p.clock.memoryMHz - 1) / p.clock.memoryMHz;
    if (dram.latency <= least)
        refuse(p, "dram.latency", "must be more than l2.hitLatency and tRCD + tCL + tCCD together: {} core cycles",
               least);
    if (p.l2.hitLatency <= p.l1.hitLatency && p.l1.bytes != 0)
        refuse(p, "l2.hitLatency", "must be more than l1.hitLatency = {}", p.l1.hitLatency);

    if (!isPowerOfTwo(p.memory.pageBytes)) refuse(p, "memory.pageBytes", "must be a power of two");
    if (dram.bytes % p.memory.pageBytes != 0)
        refuse(p, "dram.bytes", "must be a multiple of memory.pageBytes = {}", p.memory.pageBytes);
    if (p.memory.reservedBytes >= dram.bytes)
        refuse(p, "memory.reservedBytes", "must be less than dram.bytes = {}", dram.bytes);
    if (p.memory.reservedBytes % p.memory.pageBytes != 0)
        refuse(p, "memory.reservedBytes", "must be a multiple of memory.pageBytes = {}", p.memory.pageBytes);
}

}  // namespace

DeviceProfile DeviceProfile::fromJson(const json& value, const std::string& where) {
    if (!value.is_object()) throw Error("{}: a profile must be a JSON object", where);
    DeviceProfile p;
    p.name = readName(value, "name", where);
    p.description = readName(value, "description", where);
    json groups = value;
    groups.erase("name");
    groups.erase("description");
    groups.erase("map");
    readGroup(groups, "", p, where);
    for (const Descriptor& d : table()) {
        if (p.provenance.contains(d.key)) continue;
        if (d.source.empty()) throw Error("{}: {} is missing: {}, {}", where, d.key, d.meaning, wanted(d));
        p.provenance[d.key] = d.source;
    }
    if (!value.contains("map")) throw Error("{}: map is missing: the address map", where);
    const json& map = readFigure(value["map"], "map", where);
    p.provenance["map"] = readSource(value["map"], "map", where);
    try {
        p.map = AddressMap::fromJson(map);
        p.validate();
    } catch (const Error& e) {
        throw Error("{}: {}", where, e.what());
    }
    return p;
}

DeviceProfile DeviceProfile::load(const std::filesystem::path& path) {
    return fromJson(parseJson(readFile(path), path.string()), path.string());
}

json DeviceProfile::toJson() const {
    const auto source = [&](const std::string& key) {
        const auto it = provenance.find(key);
        return it == provenance.end() ? std::string("assumed: not said") : it->second;
    };
    json value = {{"name", name}, {"description", description}};
    for (const Descriptor& d : table()) {
        if (!d.source.empty() && source(d.key) == d.source) continue;  // holds without being said
        std::string path = "/" + d.key;
        std::replace(path.begin(), path.end(), '.', '/');
        value[json::json_pointer(path)] = {{"value", asJson(d, *this)}, {"from", source(d.key)}};
    }
    value["map"] = {{"value", map.toJson()}, {"from", source("map")}};
    return value;
}

void DeviceProfile::set(std::string_view key, std::string_view text) {
    const Descriptor* d = findKey(key);
    if (d == nullptr) throw Error("unknown key {}{}", key, didYouMean(key, allKeys()));
    if (!assign(*d, *this, parseValue(*d, text))) throw Error("{} = {}: must be {}", key, text, wanted(*d));
    provenance[d->key] = "assumed: set by the user";
}

void DeviceProfile::validate() const {
    checkRanges(*this);
    checkLines(*this);
    checkSm(*this);
    checkL2(*this);
    checkDram(*this);
    checkPolicies(*this);
}

double DeviceProfile::dramGBps() const {
    return static_cast<double>(map.channels()) * static_cast<double>(dram.burstBytes) / static_cast<double>(dram.tCCD) *
           static_cast<double>(clock.memoryMHz) / 1000.0;
}

std::vector<Figure> figures(const DeviceProfile& p) {
    std::vector<Figure> all;
    for (const Descriptor& d : table()) {
        const auto from = p.provenance.find(d.key);
        all.push_back({d.key, d.unit, d.meaning, asText(d, p), from == p.provenance.end() ? "" : from->second});
    }
    return all;
}

namespace {

nlohmann::ordered_json valueSchema(const Descriptor& d) {
    using nlohmann::ordered_json;
    const ordered_json integer = {{"type", "integer"}, {"minimum", d.least}, {"maximum", d.most}};
    switch (d.kind) {
        case Descriptor::Kind::integer:
            return integer;
        case Descriptor::Kind::decimal:
            return {{"type", "number"}, {"minimum", inUnits(d.least)}, {"maximum", inUnits(d.most)}};
        case Descriptor::Kind::flag:
            return {{"type", "boolean"}};
        case Descriptor::Kind::choice:
            return {{"enum", d.choices}};
        case Descriptor::Kind::list:
            return {{"type", "array"}, {"items", integer}};
    }
    return {};
}

nlohmann::ordered_json figureSchema(nlohmann::ordered_json value) {
    return {{"type", "object"},
            {"required", {"value", "from"}},
            {"additionalProperties", false},
            {"properties", {{"value", std::move(value)}, {"from", {{"$ref", "#/$defs/source"}}}}}};
}

/// Makes the objects on the way to a key, each demanding the next where the key is demanded.
void addFigure(nlohmann::ordered_json& object, std::string_view key, const Descriptor& d) {
    const std::size_t dot = key.find('.');
    const std::string name(key.substr(0, dot));
    auto& required = object["required"];
    if (d.source.empty() && std::find(required.begin(), required.end(), name) == required.end())
        required.push_back(name);
    auto& member = object["properties"][name];
    if (dot == std::string_view::npos) {
        member = figureSchema(valueSchema(d));
        member["description"] = d.unit.empty() ? d.meaning : fmt::format("{} ({})", d.meaning, d.unit);
        return;
    }
    if (member.is_null())
        member = {{"type", "object"},
                  {"required", nlohmann::ordered_json::array()},
                  {"additionalProperties", false},
                  {"properties", nlohmann::ordered_json::object()}};
    addFigure(member, key.substr(dot + 1), d);
}

}  // namespace

nlohmann::ordered_json profileSchema() {
    nlohmann::ordered_json schema = {
        {"$schema", "https://json-schema.org/draft/2020-12/schema"},
        {"$id", "profile.schema.json"},
        {"title", "A GPU: every figure that the simulator uses, and where it comes from"},
        {"type", "object"},
        {"required", {"name", "description", "map"}},
        {"additionalProperties", false},
        {"properties",
         {{"name", {{"type", "string"}, {"minLength", 1}}},
          {"description", {{"type", "string"}, {"minLength", 1}}},
          {"map", figureSchema({{"$ref", "address_map.schema.json"}})}}},
        {"$defs", {{"source", {{"type", "string"}, {"pattern", "^(published|measured|assumed): ."}}}}},
    };
    for (const Descriptor& d : table()) addFigure(schema, d.key, d);
    return schema;
}

void applySettings(DeviceProfile& p, const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) {
        const std::size_t equals = setting.find('=');
        if (equals == std::string::npos) throw Error("--set {}: must be KEY=VALUE, as in l1.ways=8", setting);
        p.set(std::string_view(setting).substr(0, equals), std::string_view(setting).substr(equals + 1));
    }
    if (!settings.empty()) p.validate();
}

namespace {

/// A directory of profiles that stands in for the embedded ones.
const char* profileDirectory() {
    const char* directory = std::getenv("BULKHEAD_PROFILES");
    return directory != nullptr && *directory != '\0' ? directory : nullptr;
}

}  // namespace

std::vector<std::string> profileNames() {
    std::vector<std::string> names;
    if (const char* directory = profileDirectory()) {
        std::error_code error;
        for (const auto& entry : std::filesystem::directory_iterator(directory, error))
            if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
        if (error) throw Error("BULKHEAD_PROFILES: {}: {}", directory, error.message());
        std::sort(names.begin(), names.end());
    } else {
        for (const EmbeddedProfile& profile : embeddedProfiles()) names.emplace_back(profile.name);
    }
    return names;
}

DeviceProfile findProfile(std::string_view name) {
    if (name.starts_with("sim:")) name.remove_prefix(4);
    if (name.ends_with(".json") || name.find('/') != std::string_view::npos) return DeviceProfile::load(name);
    const std::vector<std::string> names = profileNames();
    if (std::find(names.begin(), names.end(), name) == names.end())
        throw Error("no GPU is called {}{}; there are {}, and files NAME.json", name.empty() ? "\"\"" : name,
                    didYouMean(name, names), fmt::join(names, ", "));
    if (const char* directory = profileDirectory())
        return DeviceProfile::load(std::filesystem::path(directory) / (std::string(name) + ".json"));
    const auto& all = embeddedProfiles();
    const auto it = std::find_if(all.begin(), all.end(), [&](const EmbeddedProfile& e) { return e.name == name; });
    const std::string where = fmt::format("{}.json", name);
    return DeviceProfile::fromJson(parseJson(it->json, where), where);
}

}  // namespace bulkhead::arch
