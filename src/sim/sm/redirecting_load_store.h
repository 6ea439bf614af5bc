#pragma once

#include <deque>

#include "sim/sm/load_store.h"
#include "sim/sm/shared_cache.h"

namespace bulkhead::sim {

/// Unused shared memory as a second cache beside L1D, for loads that the policy redirects (CIAO III-B, IV-B). A line is
/// in one of the two at most: a load that is routed to the other moves it there, through the response queue, by way of
/// an MSHR.
///
/// A block lies in one group of banks and its tag in the other, so an access to both takes all banks for a cycle: those
/// of programs, lookups, fills and moves take turns. The response queue takes a line a cycle and holds a few.
class RedirectingLoadStore final : public LoadStore {
  public:
    RedirectingLoadStore(SimContext&, SmPort&, Sm&, std::uint32_t portNumber);

    void setCapacity(Bytes l1Bytes, std::uint32_t sharedBytes) override;
    void invalidate() override;
    void blockStarted(std::uint32_t block, std::uint32_t sharedBytes) override;
    void blockEnded(std::uint32_t block) override { shared_.blockEnded(block); }
    const SharedCache* sharedCache() const override { return &shared_; }

  private:
    Passed passLoad(Operation&, const Transaction&) override;
    Passed passEither(Operation&, const Transaction&, Place);
    Passed passRedirected(Operation&, const Transaction&, Place, std::uint32_t entry);
    Passed moveToL1(Operation&, const Transaction&, Place, std::uint32_t entry, std::uint8_t sectors);
    bool canMove(Cycles readLatency);
    void move(const Operation&, std::uint64_t line, std::uint8_t sectors, Cycles readLatency, Cycles writeLatency);
    void fill(const Request&, const MshrFile::Entry&) override;
    Cycles takeBanks(unsigned passes) override;
    bool banksFree() const { return banksFree_ <= sim_.now(); }
    bool isBeside(std::uint64_t line) const override { return shared_.valid(line) != 0; }
    void dropBeside(std::uint64_t line) override { shared_.drop(line); }

    SharedCache shared_;
    Cycles banksFree_ = 0;
    std::deque<Cycles> moves_;  ///< when the lines in the response queue leave it
};

}  // namespace bulkhead::sim
