#pragma once

// Views of device memory for kernels: plain, and colored by chunks. One kernel template over a view serves both. For
// CUDA C++ (clang or nvcc) and for the host that fills them in.

#if defined(__CUDACC__) || defined(__CUDA__)
#include <cuda_runtime.h>
#define BULKHEAD_VIEW __host__ __device__ __forceinline__
#else
#define BULKHEAD_VIEW inline
#endif

namespace bulkhead {

using SpanSize = unsigned long long;

/// Odd where an odd number of bits is set.
BULKHEAD_VIEW unsigned spanParity(unsigned bits) {
#ifdef __CUDA_ARCH__
    return static_cast<unsigned>(__popc(static_cast<int>(bits)));
#else
    return static_cast<unsigned>(__builtin_popcount(bits));
#endif
}

/// Walks over a view by index.
template <class View>
class SpanIterator {
  public:
    using value_type = typename View::value_type;
    using difference_type = long long;

    BULKHEAD_VIEW SpanIterator(const View& view, SpanSize index) : view_(view), index_(index) {}
    BULKHEAD_VIEW value_type& operator*() const { return view_[index_]; }
    BULKHEAD_VIEW value_type& operator[](difference_type n) const { return view_[index_ + static_cast<SpanSize>(n)]; }
    BULKHEAD_VIEW SpanIterator& operator++() { return *this += 1; }
    BULKHEAD_VIEW SpanIterator& operator--() { return *this += -1; }
    BULKHEAD_VIEW SpanIterator& operator+=(difference_type n) {
        index_ += static_cast<SpanSize>(n);
        return *this;
    }
    BULKHEAD_VIEW friend SpanIterator operator+(SpanIterator it, difference_type n) { return it += n; }
    BULKHEAD_VIEW friend difference_type operator-(const SpanIterator& a, const SpanIterator& b) {
        return static_cast<difference_type>(a.index_ - b.index_);
    }
    BULKHEAD_VIEW friend bool operator==(const SpanIterator& a, const SpanIterator& b) { return a.index_ == b.index_; }
    BULKHEAD_VIEW friend bool operator!=(const SpanIterator& a, const SpanIterator& b) { return a.index_ != b.index_; }

  private:
    View view_;
    SpanSize index_;
};

/// Elements that lie one after the other.
template <class T>
class Span {
  public:
    using value_type = T;

    Span() = default;
    BULKHEAD_VIEW Span(T* data, SpanSize size) : data_(data), size_(size) {}
    BULKHEAD_VIEW SpanSize size() const { return size_; }
    BULKHEAD_VIEW T& operator[](SpanSize i) const { return data_[i]; }
    BULKHEAD_VIEW T* begin() const { return data_; }
    BULKHEAD_VIEW T* end() const { return data_ + size_; }

  private:
    T* data_ = nullptr;
    SpanSize size_ = 0;
};

/// How offsets of one color become addresses where the color of a chunk is a parity of address bits: chunk i is one of
/// the chunks 2 i and 2 i + 1, and the parity of bits of i tells which.
struct SideColor {
    SpanSize base = 0;        ///< of the memory that both colors share
    unsigned chunkShift = 0;  ///< of chunks of 2^chunkShift bytes
    unsigned side = 0;        ///< the color
    unsigned mask = 0;        ///< of bits of an offset whose parity chooses the chunk

    BULKHEAD_VIEW SpanSize address(SpanSize offset) const {
        const SpanSize inChunk = offset & ((SpanSize{1} << chunkShift) - 1);
        const unsigned other = (spanParity(static_cast<unsigned>(offset) & mask) ^ side) & 1;
        return base + 2 * (offset - inChunk) + inChunk + (SpanSize{other} << chunkShift);
    }
};

/// The same for memory of some slices of the L2. Slices repeat after so many chunks of a row, a turn, of which the
/// color has some: so a division tells a unit's place among all units. Where a place is in memory follows from its
/// bits: the upper ones count pieces that follow each other, and tables tell what is inverted in a piece, one for each
/// part of the bits and one for the blocks that memory comes in.
struct SliceColor {
    static constexpr int kParts = 4;
    /// Of a place.
    struct Part {
        unsigned shift, bits;
    };
    /// One of a turn that the color has: its first place in the turn, and what its kind inverts.
    struct Chunk {
        unsigned place, within;
    };

    SpanSize base = 0;                  ///< of the memory
    const unsigned* offsets = nullptr;  ///< what parts of a place invert, part by part, in 2^withinShift bytes
    const unsigned* blocks = nullptr;   ///< and what each block does
    const Chunk* list = nullptr;        ///< of a turn; null where the color has the first chunks of each
    Part part[kParts] = {};             ///< the first `parts` of them
    unsigned parts = 0, withinShift = 0;
    unsigned unitShift = 0, unitMask = 0;  ///< a unit has 2^unitShift bytes; so many has the row at most
    unsigned ownBytes = 0;                 ///< a mask: bits of an offset that are the address's own
    unsigned chunkShift = 0;               ///< a chunk has 2^chunkShift units,
    unsigned blockShift = 0;               ///< a block 2^blockShift places,
    unsigned pieceShift = 0;               ///< and a piece 2^pieceShift, in 2^pieceBytes bytes
    unsigned pieceBytes = 0;
    unsigned lastBlock = 0;                  ///< of the table
    unsigned turnUnits = 1, turnPlaces = 1;  ///< units of a turn that the color has, and places of all of its chunks
    unsigned magic = 0, magicShift = 0;      ///< unit x magic >> magicShift is unit / turnUnits

    BULKHEAD_VIEW SpanSize address(SpanSize offset) const {
        const unsigned unit = static_cast<unsigned>(offset >> unitShift) & unitMask;
        const unsigned turn = static_cast<unsigned>(SpanSize{unit} * magic >> magicShift);
        unsigned place = turn * (turnPlaces - turnUnits) + unit, within = 0;
        if (list != nullptr) {
            const unsigned inTurn = unit - turn * turnUnits;
            const Chunk found = list[inTurn >> chunkShift];
            place = turn * turnPlaces + found.place + (inTurn & ((1u << chunkShift) - 1));
            within = found.within;
        }
        const unsigned block = place >> blockShift;
        within ^= blocks[block < lastBlock ? block : lastBlock];
        const unsigned* table = offsets;
        for (unsigned i = 0; i < parts; ++i) {
            const unsigned count = 1u << part[i].bits;
            within ^= table[place >> part[i].shift & (count - 1)];
            table += count;
        }
        const SpanSize piece = SpanSize{place >> pieceShift} << pieceBytes;
        return ((base + piece) ^ (SpanSize{within} << withinShift)) | (offset & ownBytes);
    }
};

/// Elements of one color. Each lies within a chunk: their size divides that of one.
template <class T, class Color = SideColor>
class ColoredSpan {
  public:
    using value_type = T;
    using iterator = SpanIterator<ColoredSpan>;

    ColoredSpan() = default;
    /// `offset` of the first element, in the addresses of the color.
    BULKHEAD_VIEW ColoredSpan(const Color& color, SpanSize offset, SpanSize size)
        : color_(color), offset_(offset), size_(size) {}
    BULKHEAD_VIEW SpanSize size() const { return size_; }
    BULKHEAD_VIEW T& operator[](SpanSize i) const {
        return *reinterpret_cast<T*>(color_.address(offset_ + i * sizeof(T)));
    }
    BULKHEAD_VIEW iterator begin() const { return {*this, 0}; }
    BULKHEAD_VIEW iterator end() const { return {*this, size_}; }

  private:
    Color color_;
    SpanSize offset_ = 0, size_ = 0;
};

}  // namespace bulkhead

#undef BULKHEAD_VIEW
