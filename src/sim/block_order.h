#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace bulkhead::sim {

struct MachineConfig;

/// In which order SMs are given the blocks of a launch: by number, or GPC by GPC as on an H200 (launch.byGpcs). There
/// every GPC has its share of few blocks, a TPC one before any has two, and those that follow each other in number are
/// on one GPC. GPCs of one TPC come first, then the last one, then the others.
class BlockOrder {
  public:
    explicit BlockOrder(const MachineConfig&);

    /// All SMs, by number.
    const std::vector<std::uint32_t>& byNumber() const { return byNumber_; }
    bool byGpcs() const { return !gpcs_.empty(); }
    /// The SMs that so many blocks go to, one each, and behind them the others.
    std::vector<std::uint32_t> of(std::uint64_t blocks, const std::function<bool(std::uint32_t sm)>& mayUse) const;

  private:
    std::vector<std::uint32_t> byNumber_;
    std::vector<std::vector<std::uint32_t>> gpcs_;  ///< their SMs, in the order in which they are given blocks
    std::size_t singles_ = 0;                       ///< the first of them have one TPC
};

}  // namespace bulkhead::sim
