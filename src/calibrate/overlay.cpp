#include "calibrate/overlay.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "arch/parameter_table.h"
#include "base/error.h"

namespace bulkhead::calibrate {
namespace {

using arch::Descriptor;
using Group = std::vector<Figure*>;  ///< of one measurement, which belong together

nlohmann::json valueOf(const Descriptor& d, const Figure& f) {
    if (!f.text.empty()) return arch::parseValue(d, f.text);
    if (d.kind == Descriptor::Kind::decimal) return f.value;
    return static_cast<std::int64_t>(std::llround(f.value));
}

/// The profile with these figures; throws Error if there can be none.
arch::DeviceProfile with(arch::DeviceProfile profile, const Group& figures, const std::string& where) {
    for (const Figure* f : figures) {
        const Descriptor& d = *arch::findParameter(f->key);
        if (!arch::assign(d, profile, valueOf(d, *f))) throw Error("{}: must be {}", f->key, arch::wanted(d));
        profile.provenance[f->key] = fmt::format("measured: bulkhead calibrate, {}, on {}", f->measurement, where);
    }
    profile.validate();
    return profile;
}

/// Why they cannot go in; nothing if they did.
std::string tryOverlay(arch::DeviceProfile& profile, const Group& figures, const std::string& where) {
    try {
        profile = with(profile, figures, where);
    } catch (const Error& error) {
        return error.what();
    }
    for (Figure* f : figures) {
        f->refused.clear();
        f->written = arch::asText(*arch::findParameter(f->key), profile);
    }
    return {};
}

}  // namespace

void overlay(arch::DeviceProfile& profile, std::vector<Figure>& figures, const std::string& where) {
    std::vector<Figure*> left;
    for (Figure& f : figures) {
        if (f.key.empty()) continue;
        f.was = arch::asText(*arch::findParameter(f.key), profile);
        left.push_back(&f);
    }
    // All at once where they fit each other, as those of one GPU should.
    if (tryOverlay(profile, left, where).empty()) return;
    // Otherwise one by one, as long as one more fits: a latency may need another one to have grown before.
    for (bool progress = true; progress && !left.empty();) {
        progress = false;
        std::vector<Figure*> refused;
        for (Figure* f : left) {
            f->refused = tryOverlay(profile, {f}, where);
            if (f->refused.empty())
                progress = true;
            else
                refused.push_back(f);
        }
        left = std::move(refused);
        if (!progress && tryOverlay(profile, left, where).empty()) return;
    }
}

}  // namespace bulkhead::calibrate
