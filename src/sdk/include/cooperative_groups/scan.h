#pragma once

#include "reduce.h"

namespace cooperative_groups {
namespace __v1 {

/// The values of all threads up to this one, combined.
template <class Group, class T_, class Operation>
__device__ __forceinline__ T_ inclusive_scan(const Group& group, T_ value, Operation operation) {
    for (unsigned int distance = 1; distance < group.size(); distance *= 2) {
        const T_ other = group.shfl_up(value, distance);
        if (group.thread_rank() >= distance) value = operation(other, value);
    }
    return value;
}
template <class Group, class T_>
__device__ __forceinline__ T_ inclusive_scan(const Group& group, T_ value) {
    return inclusive_scan(group, value, plus<T_>());
}

/// The values of all threads before this one, combined; the first thread gets T().
template <class Group, class T_, class Operation>
__device__ __forceinline__ T_ exclusive_scan(const Group& group, T_ value, Operation operation) {
    const T_ previous = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T_() : previous;
}
template <class Group, class T_>
__device__ __forceinline__ T_ exclusive_scan(const Group& group, T_ value) {
    return exclusive_scan(group, value, plus<T_>());
}

}  // namespace __v1
}  // namespace cooperative_groups
