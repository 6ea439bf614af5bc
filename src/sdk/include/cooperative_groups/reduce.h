#pragma once

#include "../cooperative_groups.h"

namespace cooperative_groups {
namespace __v1 {

template <class T_>
struct plus {
    __device__ T_ operator()(T_ a, T_ b) const { return a + b; }
};
template <class T_>
struct less {
    __device__ T_ operator()(T_ a, T_ b) const { return b < a ? b : a; }
};
template <class T_>
struct greater {
    __device__ T_ operator()(T_ a, T_ b) const { return a < b ? b : a; }
};
template <class T_>
struct bit_and {
    __device__ T_ operator()(T_ a, T_ b) const { return a & b; }
};
template <class T_>
struct bit_or {
    __device__ T_ operator()(T_ a, T_ b) const { return a | b; }
};
template <class T_>
struct bit_xor {
    __device__ T_ operator()(T_ a, T_ b) const { return a ^ b; }
};

/// All values of the group combined, in the order of ranks or, in a tile, by halves; every thread gets the result.
template <unsigned int Size, class T_, class Operation>
__device__ __forceinline__ T_ reduce(const thread_block_tile<Size, void>& tile, T_ value, Operation operation) {
    for (unsigned int bit = Size / 2; bit > 0; bit /= 2) value = operation(value, tile.shfl_xor(value, bit));
    return value;
}
template <unsigned int Size, class Parent, class T_, class Operation>
__device__ __forceinline__ T_ reduce(const thread_block_tile<Size, Parent>& tile, T_ value, Operation operation) {
    return reduce(static_cast<const thread_block_tile<Size, void>&>(tile), value, operation);
}
template <class T_, class Operation>
__device__ __forceinline__ T_ reduce(const coalesced_group& group, T_ value, Operation operation) {
    T_ result = group.shfl(value, 0);
    for (unsigned int rank = 1; rank < group.size(); ++rank) result = operation(result, group.shfl(value, rank));
    return result;
}

}  // namespace __v1
}  // namespace cooperative_groups
