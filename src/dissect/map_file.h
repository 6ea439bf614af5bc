#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "arch/address_map.h"
#include "base/result.h"
#include "dissect/findings.h"
#include "dissect/residue_hash.h"
#include "dissect/slice_latencies.h"

namespace bulkhead::dissect {

/// What dissect writes for stress and isolate: where addresses fall, how sure that is, and how it came about.
struct MapFile {
    arch::AddressMap map;
    std::string gpu;   ///< the device's name
    std::string uuid;  ///< of a real GPU; maps of earlier versions have none
    bool physical =
        false;  ///< the map takes physical addresses; otherwise page labels stand above the offset in a page
    double confidence = 0;
    std::optional<ResidueHash> form;  ///< the slices' closed form, from which pages of any allocation can be labelled
    /// By which slices have the same numbers in every process that adopts the form.
    std::optional<SliceLatencies> latencies;
    std::vector<Finding> findings;
    Result::Provenance provenance;
};

nlohmann::ordered_json formJson(const ResidueHash&);
/// Throws Error, which begins with `where`.
ResidueHash formFromJson(const nlohmann::json&, const std::string& where);
nlohmann::ordered_json toJson(const MapFile&);
/// Throws Error, which begins with `where`: not such a file, or an inconsistent one.
MapFile mapFileFromJson(const nlohmann::json&, const std::string& where);
MapFile readMapFile(const std::string& path);

}  // namespace bulkhead::dissect
