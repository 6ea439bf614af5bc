// malloc and free of device code. A heap is divided into pages. A page holds pieces of one size, or is one of several
// that hold a larger piece. Nothing here waits for another thread: whoever finds a page taken goes on to the next one,
// so that the lanes of a warp may come here together.

#include <cuda_runtime.h>

#include "driver/device_heap_layout.h"

using bulkhead::driver::DeviceHeap;
using bulkhead::driver::kHeapBitWords;
using bulkhead::driver::kHeapHints;
using bulkhead::driver::kHeapPageBytes;

extern "C" __device__ DeviceHeap* bulkhead_device_heap = nullptr;

namespace {

// What a page is, in one word: how many of its pieces are taken, and above that its kind. A page of no kind is free.
constexpr unsigned kCountBits = 16, kCount = (1u << kCountBits) - 1;
constexpr unsigned kFree = 0, kFirstOfLarge = 0xfe, kRestOfLarge = 0xff;  // kinds; 1 and up: pieces by size

/// Sizes in which small pieces come: 16, 32, 48, 64, 96, 128, 192 ... 2048. Even kinds are powers of two, odd ones
/// three quarters of the next.
constexpr unsigned kSizes = 14;
__device__ unsigned powerOf(unsigned kind) {
    return 16u << (kind + 1) / 2;
}
__device__ unsigned pieceBytes(unsigned kind) {
    if (kind == 1) return 16;
    return kind % 2 ? powerOf(kind) / 4 * 3 : powerOf(kind);
}
__device__ unsigned kindFor(unsigned bytes) {
    if (bytes <= 16) return 1;
    const unsigned kind = 2 * (28 - __clz(static_cast<int>(bytes - 1)));
    return kind > 2 && bytes <= pieceBytes(kind - 1) ? kind - 1 : kind;
}
__device__ unsigned piecesIn(unsigned kind) {
    if (kind == 1) return kHeapPageBytes / 16;
    return (kind % 2 ? kHeapPageBytes * 4 / 3 : kHeapPageBytes) / powerOf(kind);
}

__device__ unsigned seen(const unsigned* word) {
    return *static_cast<const volatile unsigned*>(word);
}

__device__ unsigned thisSm() {
    unsigned sm;
    asm("mov.u32 %0, %%smid;" : "=r"(sm));
    return sm;
}

__device__ bool hasRoom(unsigned page, unsigned kind) {
    return kind == kFree ? page == 0 : page >> kCountBits == kind && (page & kCount) < piecesIn(kind);
}

/// Which pages are worth a look for a kind: those of it that have room, or that are free. The page itself decides.
__device__ unsigned* worthALook(DeviceHeap* heap, unsigned kind, unsigned index) {
    return heap->rooms + kind * heap->roomWords + index / 32;
}
__device__ void noteRoom(DeviceHeap* heap, unsigned kind, unsigned index) {
    unsigned* const word = worthALook(heap, kind, index);
    if (!(seen(word) >> index % 32 & 1)) atomicOr(word, 1u << index % 32);
}
__device__ void noteNoRoom(DeviceHeap* heap, unsigned kind, unsigned index) {
    atomicAnd(worthALook(heap, kind, index), ~(1u << index % 32));
    // Somebody may have made room in between, and seen the bit that is gone now.
    __threadfence();
    if (hasRoom(seen(heap->pages + index), kind)) noteRoom(heap, kind, index);
}

/// Gives a piece, or a claim to one, back to its page; the last one frees the page.
__device__ void release(DeviceHeap* heap, unsigned index) {
    unsigned* const page = heap->pages + index;
    const unsigned left = atomicSub(page, 1u) - 1, kind = left >> kCountBits;
    if (left && (left & kCount) == 0 && atomicCAS(page, left, 0u) == left)
        noteRoom(heap, kFree, index);
    else if (kind && kind <= kSizes)
        noteRoom(heap, kind, index);
}

/// A page of this kind gives a piece, or nothing. A free page becomes one of this kind.
__device__ char* takeFrom(DeviceHeap* heap, unsigned index, unsigned kind) {
    unsigned* const page = heap->pages + index;
    unsigned state = seen(page);
    if (state == 0) {
        state = atomicCAS(page, 0u, kind << kCountBits);
        if (state == 0) {
            state = kind << kCountBits;
            noteNoRoom(heap, kFree, index);
            noteRoom(heap, kind, index);
        }
    }
    if (!hasRoom(state, kind)) {
        noteNoRoom(heap, kind, index);
        return nullptr;
    }
    // Others may have been quicker since.
    state = atomicAdd(page, 1u);
    if (!hasRoom(state, kind)) {
        release(heap, index);
        return nullptr;
    }
    // A piece is ours, and a bit is zero for it: bits are cleared before pieces are given back. Those who come together
    // begin at bits of their own.
    unsigned* const bits = heap->bits + index * kHeapBitWords;
    const unsigned pieces = piecesIn(kind), words = (pieces + 31) / 32, ticket = state & kCount;
    unsigned mask = ~0u << ticket % 32;
    for (unsigned word = ticket / 32;; word = word + 1 == words ? 0 : word + 1, mask = ~0u) {
        const unsigned valid = pieces - word * 32 >= 32 ? ~0u : (1u << (pieces - word * 32)) - 1;
        while (const unsigned open = ~seen(bits + word) & valid & mask) {
            const unsigned bit = open & (0u - open);
            if (!(atomicOr(bits + word, bit) & bit))
                return heap->data + static_cast<size_t>(index) * kHeapPageBytes +
                       (word * 32 + __ffs(static_cast<int>(bit)) - 1) * pieceBytes(kind);
        }
    }
}

/// Of the pages that are worth a look for `as`, from one on and around: the first that gives a piece of a kind.
/// `words`: how many times 32 pages to look at.
__device__ char* takeFromAny(DeviceHeap* heap, unsigned as, unsigned kind, unsigned from, unsigned words,
                             unsigned* found) {
    unsigned word = from / 32, mask = ~0u << from % 32;
    for (; words; --words, word = word + 1 == heap->roomWords ? 0 : word + 1, mask = ~0u)
        while (const unsigned open = seen(heap->rooms + as * heap->roomWords + word) & mask) {
            *found = word * 32 + __ffs(static_cast<int>(open)) - 1;
            if (char* piece = takeFrom(heap, *found, kind)) return piece;
            mask &= ~(open & (0u - open));
        }
    return nullptr;
}

__device__ void* allocateSmall(DeviceHeap* heap, unsigned bytes) {
    const unsigned kind = kindFor(bytes), sm = thisSm() % kHeapHints;
    // SMs begin in different places, and go on where they last found something.
    unsigned* const hint = heap->hints + kind * kHeapHints + sm;
    const unsigned last = seen(hint);
    const unsigned from = last ? last : static_cast<unsigned>(static_cast<size_t>(sm) * heap->pageCount / kHeapHints);
    if (last)
        if (char* piece = takeFrom(heap, last, kind)) return piece;
    // Far pages of the kind come last: there may be none, and that takes long to find.
    unsigned found = 0;
    char* piece = takeFromAny(heap, kind, kind, from, 2, &found);
    if (!piece) piece = takeFromAny(heap, kFree, kind, from, heap->roomWords + 1, &found);
    if (!piece) piece = takeFromAny(heap, kind, kind, from, heap->roomWords + 1, &found);
    if (piece) *static_cast<volatile unsigned*>(hint) = found;
    return piece;
}

/// Pages next to each other, from the end of the heap on: small pieces begin all over it.
__device__ void* allocateLarge(DeviceHeap* heap, unsigned pages) {
    for (unsigned end = heap->pageCount; end >= pages;) {
        // Taken from the last one on; a page that somebody has is where the next try ends.
        unsigned first = end;
        while (first > end - pages) {
            const unsigned kind = first - 1 == end - pages ? kFirstOfLarge : kRestOfLarge;
            if (seen(heap->pages + first - 1) || atomicCAS(heap->pages + first - 1, 0u, kind << kCountBits | 1)) break;
            --first;
            noteNoRoom(heap, kFree, first);
        }
        if (first == end - pages) {
            *static_cast<volatile unsigned*>(heap->bits + first * kHeapBitWords) = pages;
            return heap->data + static_cast<size_t>(first) * kHeapPageBytes;
        }
        for (unsigned page = first; page < end; ++page) release(heap, page);
        end = first - 1;
    }
    return nullptr;
}

}  // namespace

extern "C" __device__ __attribute__((noinline)) void* malloc(size_t bytes) {
    DeviceHeap* const heap = bulkhead_device_heap;
    const size_t pages = (bytes + kHeapPageBytes - 1) / kHeapPageBytes;
    if (bytes > static_cast<size_t>(heap->pageCount) * kHeapPageBytes) return nullptr;
    return bytes <= pieceBytes(kSizes) ? allocateSmall(heap, static_cast<unsigned>(bytes))
                                       : allocateLarge(heap, static_cast<unsigned>(pages));
}

extern "C" __device__ __attribute__((noinline)) void free(void* piece) {
    if (!piece) return;
    DeviceHeap* const heap = bulkhead_device_heap;
    const size_t offset = static_cast<size_t>(static_cast<char*>(piece) - heap->data);
    const unsigned index = static_cast<unsigned>(offset / kHeapPageBytes);
    if (offset / kHeapPageBytes >= heap->pageCount) __trap();
    const unsigned within = static_cast<unsigned>(offset % kHeapPageBytes);
    const unsigned kind = seen(heap->pages + index) >> kCountBits;
    unsigned* const bits = heap->bits + index * kHeapBitWords;
    if (kind == kFirstOfLarge) {
        if (within) __trap();
        const unsigned pages = atomicExch(bits, 0u);
        if (!pages) __trap();
        for (unsigned page = index; page < index + pages; ++page) release(heap, page);
        return;
    }
    // What no malloc gave, or somebody has freed before.
    if (kind == 0 || kind > kSizes || within % pieceBytes(kind)) __trap();
    const unsigned which = within / pieceBytes(kind), bit = 1u << which % 32;
    if (!(atomicAnd(bits + which / 32, ~bit) & bit)) __trap();
    release(heap, index);
}
