#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "corun/corun.h"

namespace bulkhead::evaluation {

/// How a GPU is divided among applications: a row of the table of ways of sharing.
class Method {
  public:
    /// By a name of the table or of the paper, whose "none" is side by side on the same SMs. Throws Error that lists
    /// them.
    explicit Method(std::string_view name = "none") : way_(&corun::findSharing(name)) {}

    const corun::SharingWay& way() const { return *way_; }
    /// The paper's name where it has one.
    std::string_view name() const { return way_->inPaper.empty() ? way_->name : way_->inPaper; }
    /// In the order of the table.
    auto operator<=>(const Method&) const = default;

  private:
    const corun::SharingWay* way_;
};

/// One application in partition 1 of equal ones, timed with each of several neighbours in all the others.
struct SeriesSpec {
    static constexpr std::string_view kKind = "series";
    std::string gpu;
    std::vector<std::string> settings;  ///< of a simulated GPU
    std::string map;                    ///< file of bulkhead dissect, for walls between slices of a real GPU
    Method method;
    std::string placement = "usual";  ///< of walls: what places blocks, "blocks" or "driver"
    unsigned partitions = 2;          ///< 1: the whole GPU, to see what walls cost
    std::string application;
    std::vector<std::string> neighbours;  ///< empty names: the others are idle
    workloads::Size size = workloads::Size::standard;
    std::uint64_t seed = 1;
    unsigned samples = 1;
    /// Of a simulated GPU, where a sample would be like the one before: which inputs, placement of pages and phase of
    /// the neighbours. 0: as the profile and the seed say, all starting together.
    unsigned variant = 0;
    bool processes = false;  ///< of a real GPU: a process each under MPS, as method mps needs them anyway

    /// Everything that determines what it finds, but for the program itself.
    nlohmann::ordered_json toJson() const;
    /// From what describe() says.
    static SeriesSpec fromJson(const nlohmann::json&, const std::string& where);
};
/// All of it for another process, which reads profile and map itself.
nlohmann::ordered_json describe(const SeriesSpec&);

/// What the name of a file with its measurement begins with.
std::string nameOf(const SeriesSpec&);
std::string labelOf(const SeriesSpec&);

/// Seconds of a run of the application, for each neighbour and sample.
struct SeriesMeasurement {
    std::vector<std::vector<double>> seconds;
    std::vector<std::uint64_t> neighbourRuns;  ///< of all its copies together, while the application was timed
    corun::Place place;                        ///< of the application, after its last run
    double wallSeconds = 0;

    nlohmann::ordered_json toJson() const;
    static SeriesMeasurement fromJson(const nlohmann::json&, const std::string& where);
};

/// Measures it here. Where a GPU does not run by itself, caches are cold in every first sample. Throws Error, also
/// where the application's result differs from the CPU's.
SeriesMeasurement execute(const SeriesSpec&);

}  // namespace bulkhead::evaluation
