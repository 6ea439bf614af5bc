#include "sim/exec/bulk_copy.h"

#include <algorithm>

#include "sim/exec/cluster.h"
#include "sim/exec/mbarrier.h"
#include "sim/exec/memory_access.h"
#include "sim/exec/pending_effects.h"
#include "sim/exec/tensor_map.h"

namespace bulkhead::sim {

namespace {

constexpr std::uint32_t kAlignment = 16, kLine = 128;

/// Bytes for another block of the cluster, until they show. The data follow.
struct RemoteBytes {
    std::uint8_t* to;
    BulkReduction reduce;
    std::uint32_t bytes;

    static bool run(void* what) {
        const auto& r = *static_cast<const RemoteBytes*>(what);
        const auto* const data = reinterpret_cast<const std::uint8_t*>(&r + 1);
        if (r.reduce)
            r.reduce(r.to, data, r.bytes);
        else
            std::memcpy(r.to, data, r.bytes);
        return true;
    }
};

std::span<std::uint8_t> sharedOf(const Block& block, std::uint32_t rank) {
    return rank == block.rank ? block.shared : block.cluster->sharedOf(rank);
}

/// Global memory as the SM sees it.
void readGlobal(const PendingEffects& effects, const BulkPiece& piece, std::uint8_t* to) {
    for (std::uint32_t at = 0; at < piece.bytes; at += kAlignment)
        effects.read(piece.global + at, piece.host + at, std::min(kAlignment, piece.bytes - at), to + at);
}

/// To the nearest, ties to even, as cvt.rn.tf32.f32 does and as an H200 loads tensors of either type of tf32:
/// denormal values are kept.
void roundToTf32(std::uint8_t* data, std::uint32_t bytes) {
    constexpr std::uint32_t kDropped = 0x1fff, kNan = 0x7fff'e000, kInfinity = 0x7f80'0000;
    for (std::uint32_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
        std::uint32_t value;
        std::memcpy(&value, data + at, sizeof value);
        const bool isNan = (value & ~(1u << 31)) > kInfinity;
        value = isNan ? kNan : (value + kDropped / 2 + (value >> 13 & 1)) & ~kDropped;
        std::memcpy(data + at, &value, sizeof value);
    }
}

}  // namespace

void BulkCopy::put(PendingEffects& effects, std::uint32_t rank, std::uint32_t offset, const std::uint8_t* data,
                   std::uint32_t count) const {
    std::uint8_t* const at = sharedOf(*block, rank).data() + offset;
    if (rank != block->rank && !effects.showAtOnce()) {
        void* const room = effects.defer(sizeof(RemoteBytes) + count, RemoteBytes::run);
        *static_cast<RemoteBytes*>(room) = {at, reduce, count};
        std::memcpy(static_cast<RemoteBytes*>(room) + 1, data, count);
    } else if (reduce) {
        reduce(at, data, count);
    } else {
        std::memcpy(at, data, count);
    }
}

void BulkCopy::writeShared(PendingEffects& effects) const {
    std::uint8_t data[kLine];
    for (const BulkPiece& piece : pieces) {
        if (piece.host) {
            readGlobal(effects, piece, data);
            if (roundsToTf32) roundToTf32(data, piece.bytes);
        } else {
            for (std::uint32_t i = 0; i < piece.bytes; ++i)
                data[i] = static_cast<std::uint8_t>(fill >> (i % fillBytes * 8));
        }
        for (std::uint32_t rest = ranks; rest; rest &= rest - 1)
            put(effects, static_cast<std::uint32_t>(std::countr_zero(rest)), piece.shared, data, piece.bytes);
    }
}

void BulkCopy::writeGlobal(PendingEffects& effects) const {
    for (const BulkPiece& piece : pieces) {
        if (!piece.host) continue;
        const std::uint8_t* const from = block->shared.data() + piece.shared;
        if (effects.showAtOnce()) {
            if (reduce)
                reduce(piece.host, from, piece.bytes);
            else
                std::memcpy(piece.host, from, piece.bytes);
        } else if (reduce) {
            void* const room =
                effects.deferOn(piece.global, piece.bytes, sizeof(RemoteBytes) + piece.bytes, RemoteBytes::run);
            *static_cast<RemoteBytes*>(room) = {piece.host, reduce, piece.bytes};
            std::memcpy(static_cast<RemoteBytes*>(room) + 1, from, piece.bytes);
        } else {
            effects.store(piece.global, piece.host, from, piece.bytes);
        }
    }
}

void BulkCopy::writeOther(PendingEffects& effects) const {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(ranks));
    put(effects, rank, to, block->shared.data() + from, bytes);
}

void BulkCopy::takeEffect(PendingEffects& effects) const {
    if (!block) return;
    switch (way) {
        case Way::toShared:
            writeShared(effects);
            break;
        case Way::toGlobal:
            writeGlobal(effects);
            break;
        case Way::between:
            writeOther(effects);
            break;
        case Way::prefetch:
            break;
    }
    for (std::uint32_t rest = mbarrierRanks; rest; rest &= rest - 1) {
        const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
        completeBytes(sharedOf(*block, rank).data() + mbarrier, bytes, rank != block->rank, effects, *block->launch,
                      line);
    }
}

namespace {

/// One lane's copy, as the instruction describes it.
class LaneCopy {
  public:
    LaneCopy(const Instr& i, Warp& w, unsigned lane) : i_(i), w_(w), site_(w.code().bulkSites[i.extra]), lane_(lane) {
        copy_.way = site_.way;
        copy_.block = &w.block();
        copy_.slot = w.hardwareSlot();
        copy_.line = i.line;
        copy_.reduce = site_.reduce;
    }

    BulkCopy make() {
        if (site_.dimensions)
            tensor();
        else
            plain();
        if (site_.way == BulkCopy::Way::toShared || site_.way == BulkCopy::Way::between) completion();
        return std::move(copy_);
    }

  private:
    using Way = BulkCopy::Way;

    std::uint64_t value(const BulkSite::Address& a) const {
        const std::uint64_t base =
            a.is32 ? w_.lanes<std::uint32_t>(a.slot)[lane_] : w_.lanes<std::uint64_t>(a.slot)[lane_];
        return base + static_cast<std::uint64_t>(a.displacement);
    }
    std::uint32_t number(Slot slot) const { return w_.lanes<std::uint32_t>(slot)[lane_]; }

    /// Where a .shared address is.
    struct Shared {
        std::uint32_t rank, offset;
    };
    Shared shared(const BulkSite::Address& a, std::uint64_t bytes, std::uint32_t align) const {
        const std::uint64_t address = static_cast<std::uint32_t>(value(a));
        const std::uint32_t own = w_.block().rank;
        const Shared at{ClusterAddress::rankIn(address, own), ClusterAddress::offsetIn(address)};
        if (at.offset % align) w_.failAddress(LaunchError::Cause::misalignedAddress, i_, lane_, address);
        if (at.rank >= w_.launch().cluster.count())
            w_.failAddress(
                LaunchError::Cause::illegalAddress, i_, lane_, address,
                fmt::format("there is no block {} in a cluster of {}", at.rank, w_.launch().cluster.count()));
        const std::uint64_t size = w_.block().shared.size();
        if (at.offset > size || size - at.offset < bytes)
            w_.failAddress(LaunchError::Cause::illegalAddress, i_, lane_, address,
                           fmt::format("{} bytes do not lie in the {} of the block's shared memory", bytes, size));
        return at;
    }
    Shared own(const BulkSite::Address& a, std::uint64_t bytes, std::uint32_t align) const {
        const Shared at = shared(a, bytes, align);
        if (at.rank != w_.block().rank)
            w_.failAddress(LaunchError::Cause::illegalAddress, i_, lane_, value(a), "another block's shared memory");
        return at;
    }

    void plain() {
        const std::uint32_t bytes = number(site_.size);
        copy_.bytes = bytes;
        if (bytes % kAlignment)
            w_.fail(LaunchError::Cause::illegalInstruction, i_, lane_,
                    fmt::format("a bulk copy of {} bytes, not a multiple of 16", bytes));
        switch (site_.way) {
            case Way::toShared: {
                const Shared to = shared(site_.to, bytes, kAlignment);
                copy_.ranks = 1u << to.rank;
                pieces(value(site_.from), to.offset, bytes, false);
                break;
            }
            case Way::toGlobal:
                pieces(value(site_.to), own(site_.from, bytes, kAlignment).offset, bytes, true);
                break;
            case Way::between: {
                const Shared to = shared(site_.to, bytes, kAlignment);
                copy_.ranks = 1u << to.rank;
                copy_.to = to.offset;
                copy_.from = own(site_.from, bytes, kAlignment).offset;
                break;
            }
            case Way::prefetch:
                pieces(value(site_.from), 0, bytes, false);
                break;
        }
    }

    void pieces(std::uint64_t global, std::uint32_t shared, std::uint32_t bytes, bool writes) {
        if (global % kAlignment) w_.failAddress(LaunchError::Cause::misalignedAddress, i_, lane_, global);
        if (!bytes) return;
        std::uint8_t* host = locateBytes(i_, w_, lane_, global, bytes, writes);
        while (bytes) {
            const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, kLine - global % kLine));
            copy_.pieces.push_back({global, host, shared, part});
            global += part;
            host += part;
            shared += part;
            bytes -= part;
        }
    }

    void tensor() {
        const TensorMap map = readTensorMap(i_, w_, lane_, value(site_.map));
        TensorBox box;
        box.im2col = site_.im2col;
        box.writes = site_.way == Way::toGlobal;
        box.dimensions = site_.dimensions;
        for (unsigned d = 0; d < site_.dimensions; ++d)
            box.at[d] = static_cast<std::int32_t>(number(site_.coordinate[d]));
        for (unsigned d = 0; d < site_.offsets; ++d)
            box.offset[d] = static_cast<std::uint16_t>(w_.lanes<std::uint32_t>(site_.offset[d])[lane_]);
        if (const std::string_view problem = map.problemWith(box); !problem.empty())
            w_.fail(LaunchError::Cause::illegalInstruction, i_, lane_, std::string(problem));
        copy_.bytes = map.boxBytes();
        std::uint32_t at = 0;
        if (site_.way == Way::toShared) {
            const Shared to = shared(site_.to, map.sharedBytes(), map.alignment());
            copy_.ranks = 1u << to.rank;
            at = to.offset;
        } else if (box.writes) {
            at = own(site_.from, map.sharedBytes(), map.alignment()).offset;
        }
        copy_.fill = map.fillPattern();
        copy_.fillBytes = map.elementBytes();
        copy_.roundsToTf32 = map.roundsToTf32();
        if (!site_.reduction.empty()) {
            copy_.reduce = bulkReduction(site_.reduction, map.elementType());
            if (!copy_.reduce)
                w_.fail(LaunchError::Cause::illegalInstruction, i_, lane_,
                        "the elements of the tensor have no such reduction");
        }
        map.eachPiece(box, at, [&](BulkPiece piece) {
            if (piece.global) piece.host = locateBytes(i_, w_, lane_, piece.global, piece.bytes, box.writes);
            copy_.pieces.push_back(piece);
        });
    }

    void completion() {
        constexpr std::uint32_t kObjectBytes = 8;
        const Shared at = shared(site_.mbarrier, kObjectBytes, kObjectBytes);
        copy_.mbarrier = at.offset;
        copy_.mbarrierRanks = 1u << at.rank;
        if (!site_.multicast) return;
        copy_.ranks = copy_.mbarrierRanks = number(site_.mask) & 0xffff;
        const std::uint64_t blocks = w_.launch().cluster.count();
        if (copy_.ranks >> blocks)
            w_.fail(LaunchError::Cause::illegalInstruction, i_, lane_,
                    fmt::format("a mask of {:#x} for a cluster of {} blocks", copy_.ranks, blocks));
    }

    const Instr& i_;
    Warp& w_;
    const BulkSite& site_;
    unsigned lane_;
    BulkCopy copy_;
};

}  // namespace

void runBulkCopy(const Instr& i, Warp& w, LaneMask mask) {
    for (LaneMask m = mask; m; m &= m - 1) {
        BulkCopy copy = LaneCopy(i, w, static_cast<unsigned>(std::countr_zero(m))).make();
        w.noteChange();
        if (w.block().copies)
            w.block().copies->submit(std::move(copy));
        else
            copy.takeEffect(w.effects());
    }
}

}  // namespace bulkhead::sim
