#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "sim/exec/program.h"

namespace bulkhead::sim {

/// How many other lines were used between two uses of the same one: with so many lines or more, a cache that evicts the
/// least recently used would have kept it (stack distance).
class ReuseDistances {
  public:
    static constexpr std::uint64_t kFirst = ~std::uint64_t{0};  ///< it was not used before

    std::uint64_t use(std::uint64_t line);

  private:
    void renumber();
    void mark(std::size_t time, bool latest);
    std::uint64_t marksUpTo(std::size_t time) const;

    std::unordered_map<std::uint64_t, std::size_t> last_;  ///< when each line was used, from 1
    std::vector<std::uint32_t> marks_;                     ///< sums of times at which a line was used last
    std::size_t now_ = 0;
};

/// What happens on one SM in detail, for whoever asks for it: it costs time of the host at every instruction and every
/// access. An SM has one of its own.
class CloseLook {
  public:
    static constexpr std::size_t kBuckets = 40;
    /// Bucket 0 counts zeros, bucket n numbers from 2^(n-1) to 2^n - 1.
    using Histogram = std::array<std::uint64_t, kBuckets>;

    /// What an instruction of a kernel cost, all of its executions together.
    struct Cost {
        std::string text, source;  ///< as written, and "file:line" of what it was made from, if the PTX says so (.loc)
        std::uint64_t issues = 0, lanes = 0;
        Cycles waited = 0;  ///< from the instruction of the warp before it

        Cost& operator+=(const Cost& o) {
            if (text.empty()) {
                text = o.text;
                source = o.source;
            }
            issues += o.issues;
            lanes += o.lanes;
            waited += o.waited;
            return *this;
        }
    };
    /// By function and PTX line.
    using Costs = std::map<std::pair<std::string, std::int32_t>, Cost>;

    /// A load asks for a line.
    void accessed(std::uint64_t line);
    /// All data of a load are there.
    void loaded(Cycles after);
    void issued(const Program&, const Code&, const Instr&, unsigned lanes, Cycles waited);
    /// Programs may come and go: what is known of an instruction by its place in memory is not known any more.
    void forgetPlaces();

    const Histogram& latencies() const { return latencies_; }
    const Histogram& distances() const { return distances_; }
    std::uint64_t firstUses() const { return firstUses_; }
    const Costs& costs() const { return costs_; }

  private:
    Cost& costOf(const Program&, const Code&, const Instr&);

    Histogram latencies_ = {}, distances_ = {};
    std::uint64_t firstUses_ = 0;
    ReuseDistances reuse_;
    Costs costs_;
    std::unordered_map<const Instr*, Cost*> places_;
};

/// Where the instruction at this place of a PTX file comes from, as its .loc and .file say: "kernel.cu:12", or nothing.
std::string sourceLine(std::string_view ptx, std::size_t at);

}  // namespace bulkhead::sim
