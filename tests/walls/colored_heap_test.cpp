#include "walls/colored_heap.h"

#include <gtest/gtest.h>

namespace bulkhead::walls {
namespace {

TEST(ColoredHeaps, NoAllocationCrossesFromOnePieceToTheNext) {
    ColoredHeap heap({{64_KiB, 1_MiB}, {4_MiB, 1_MiB}}, false);
    EXPECT_EQ(heap.bytes(), 2_MiB);
    EXPECT_FALSE(heap.allocate(1_MiB + 1));
    const auto a = heap.allocate(768_KiB), b = heap.allocate(768_KiB), c = heap.allocate(256_KiB);
    ASSERT_TRUE(a && b && c);
    EXPECT_EQ(a->offset, 64_KiB);
    EXPECT_EQ(b->offset, 4_MiB);
    EXPECT_EQ(c->offset, 64_KiB + 768_KiB);
    for (const auto& range : {*c, *b, *a}) heap.free(range);
    EXPECT_FALSE(heap.allocate(1_MiB + 1));
    EXPECT_TRUE(heap.allocate(1_MiB));
    EXPECT_TRUE(heap.allocate(1_MiB));
}

TEST(ColoredHeaps, AddressesBetweenPiecesAreNobodys) {
    const ColoredHeap heap({{4096, 4096}, {16384, 512}}, false);
    for (const Bytes inside : {4096, 8191, 16384, 16895}) EXPECT_TRUE(heap.contains(inside)) << inside;
    for (const Bytes outside : {0, 4095, 8192, 16383, 16896}) EXPECT_FALSE(heap.contains(outside)) << outside;
    EXPECT_FALSE(heap.contains(Bytes{0} - 1));
}

TEST(ColoredHeaps, OnlyWhatWasNeverGivenOutIsFresh) {
    ColoredHeap heap({{0, 64_KiB}, {1_MiB, 64_KiB}}, false), used({{0, 64_KiB}}, true);
    const auto a = heap.allocate(1_KiB);
    EXPECT_FALSE(a->used);
    heap.free(*a);
    EXPECT_TRUE(heap.allocate(1_KiB)->used);
    EXPECT_FALSE(heap.allocate(64_KiB)->used) << "in the other piece";
    EXPECT_TRUE(used.allocate(1_KiB)->used);
}

}  // namespace
}  // namespace bulkhead::walls
