#pragma once

#include <cstddef>
#include <cstdint>

namespace bulkhead::driver {

constexpr unsigned kHeapPageBytes = 4096;
constexpr unsigned kHeapBitWords = 8;  ///< of a page: a bit for each piece of 16 bytes
constexpr unsigned kHeapHints = 64;    ///< by kind of page, for SMs
constexpr unsigned kHeapKinds = 16;

/// What device code's malloc and free work on, in the memory of a context. Behind these members everything is zero at
/// first, but that all pages are free.
struct DeviceHeap {
    std::uint32_t pageCount, roomWords;
    std::uint32_t* pages;  ///< what each one is
    std::uint32_t* bits;   ///< which of its pieces are taken; of the first page of a large piece, how many pages it has
    std::uint32_t* rooms;  ///< by kind, a bit for each page: may have room
    std::uint32_t* hints;  ///< where a kind of page was found last; 0: nowhere yet
    char* data;
};

}  // namespace bulkhead::driver
