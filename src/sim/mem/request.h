#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "arch/address_map.h"
#include "base/units.h"
#include "sim/mem/retention.h"

namespace bulkhead::sim {

using RequestId = std::uint32_t;
constexpr RequestId kNoRequest = ~RequestId{0};
/// Request::sm of what copies and fills read and write.
constexpr std::uint32_t kCopyEngine = ~std::uint32_t{0};

enum class RequestKind : std::uint8_t {
    read,
    write,
    atomic,     ///< executed at the slice, returns a value
    reduction,  ///< executed at the slice, returns nothing
    fill,       ///< slice to DRAM: read sectors
    writeback,  ///< slice to DRAM: write sectors
};

/// One line's worth of traffic between an SM, an L2 slice and DRAM.
struct Request {
    arch::PhysicalAddress line = 0;  ///< address of the line's first byte
    std::uint64_t row = 0;
    Cycles since = 0;  ///< when it began to wait where it now is
    std::uint32_t slice = 0, set = 0, bank = 0;
    std::uint32_t sm = 0;      ///< who asked
    std::uint32_t launch = 0;  ///< for whose counters
    std::uint32_t token = 0;   ///< the asker's: which miss or load it answers
    std::uint32_t words = 0;   ///< write: words written whole
    RequestId next = kNoRequest;
    RequestId with = kNoRequest;  ///< read: another that waits for the same answer
    std::uint16_t bytes = 0;      ///< payload
    std::uint16_t turns = 0;      ///< atomic: L2 cycles of lanes that meet at one address
    std::uint8_t sectors = 0;     ///< wanted or written
    std::uint8_t complete = 0;    ///< write: sectors written whole
    std::uint8_t warp = 0;
    bool isBulk = false;                      ///< read: of a bulk copy
    bool crosses = false;                     ///< read: its answer comes from the other side
    bool joins = false;                       ///< ... for which another has crossed before
    bool opensRow = false;                    ///< in DRAM: its row was opened for it
    bool inBatch = false;                     ///< in DRAM: for schedulers that have batches
    Retention retention = Retention::normal;  ///< of the line
    RequestKind kind = RequestKind::read;

    /// Gives it a line, and says where that lies: slice, set, bank and row. Returns the channel.
    std::uint32_t goTo(const arch::AddressMap&, arch::PhysicalAddress line);
};

/// Requests by number, for all units of a GPU. They never move, so references stay good; a place that exists can be
/// reached while another thread adds more.
class RequestStore {
  public:
    static constexpr unsigned kShift = 8;
    static constexpr RequestId kChunk = 1u << kShift;

    Request& operator[](RequestId id) { return chunks_[id >> kShift][id & (kChunk - 1)]; }
    /// The number of the first of kChunk new ones.
    RequestId addChunk();

  private:
    static constexpr std::size_t kMostChunks = std::size_t{1} << 14;

    std::unique_ptr<std::unique_ptr<Request[]>[]> chunks_ = std::make_unique<std::unique_ptr<Request[]>[]>(kMostChunks);
    std::size_t count_ = 0;
    std::mutex adding_;
};

/// Requests that units which advance together begin, recycled: the simulator allocates none once warm. A request is
/// released where it was taken.
class RequestPool {
  public:
    explicit RequestPool(RequestStore& store) : store_(store) {}

    RequestId take() {
        ++live_;
        if (free_ == kNoRequest) grow();
        const RequestId id = free_;
        Request& request = store_[id];
        free_ = request.next;
        request = {};
        return id;
    }
    void release(RequestId id) {
        --live_;
        store_[id].next = free_;
        free_ = id;
    }
    Request& operator[](RequestId id) { return store_[id]; }
    std::uint32_t live() const { return live_; }

  private:
    void grow() {
        const RequestId first = store_.addChunk();
        for (RequestId i = RequestStore::kChunk; i-- > 0;) {
            store_[first + i].next = free_;
            free_ = first + i;
        }
    }

    RequestStore& store_;
    RequestId free_ = kNoRequest;
    std::uint32_t live_ = 0;
};

}  // namespace bulkhead::sim
