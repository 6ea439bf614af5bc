#include "arch/parameter_table.h"
#include "base/error.h"
#include "calibrate/measurement.h"

namespace bulkhead::calibrate {

Session::Session(gpu::Gpu& gpu, const arch::DeviceProfile& base, const Options& options, Listener& listener)
    : base_(base), listener_(listener), bench_(gpu, options.seed, options.noise) {}

dissect::Probe& Session::probe() {
    if (!probe_) probe_.emplace(bench_.gpu());
    return *probe_;
}

const dissect::MemoryView& Session::memory() {
    // Enough for lines that were never touched, and for an L2 many times over.
    if (!memory_) memory_.emplace(bench_.gpu(), 2_GiB);
    return *memory_;
}

bool Session::knownFlag(std::string_view key) const {
    for (const Figure& f : figures_)
        if (f.key == key) return f.text == "true";
    return arch::findParameter(key)->get(base_) != 0;
}

double Session::known(std::string_view key) const {
    for (const Figure& f : figures_)
        if (f.key == key) return f.value;
    const arch::Descriptor* d = arch::findParameter(key);
    if (d == nullptr) throw Error("no parameter {} of a profile", key);
    return d->kind == arch::Descriptor::Kind::decimal ? arch::inUnits(d->get(base_))
                                                      : static_cast<double>(d->get(base_));
}

void Session::add(Figure figure) {
    figure.measurement = current_;
    listener_.found(figure);
    figures_.push_back(std::move(figure));
}

void Session::found(std::string_view key, double value, std::string note) {
    Figure f;
    f.key = key;
    f.value = value;
    f.note = std::move(note);
    const arch::Descriptor* d = arch::findParameter(key);
    if (d == nullptr) throw Error("no parameter {} of a profile", key);
    f.unit = d->unit;
    add(std::move(f));
}

void Session::foundText(std::string_view key, std::string value, std::string note) {
    Figure f;
    f.key = key;
    f.text = std::move(value);
    f.note = std::move(note);
    add(std::move(f));
}

void Session::foundOther(std::string name, double value, std::string unit, std::string note) {
    Figure f;
    f.name = std::move(name);
    f.value = value;
    f.unit = std::move(unit);
    f.note = std::move(note);
    add(std::move(f));
}

void Session::undecided(std::string why) {
    undecided_.push_back({current_, std::move(why)});
    listener_.undecided(undecided_.back());
}

}  // namespace bulkhead::calibrate
