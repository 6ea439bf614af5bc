#pragma once

#include "reduce.h"

namespace cooperative_groups {

/// The values of all threads up to this one, combined.
template <class Group, class T, class Operation>
__device__ __forceinline__ T inclusive_scan(const Group& group, T value, Operation operation) {
    for (unsigned int distance = 1; distance < group.size(); distance *= 2) {
        const T other = group.shfl_up(value, distance);
        if (group.thread_rank() >= distance) value = operation(other, value);
    }
    return value;
}
template <class Group, class T>
__device__ __forceinline__ T inclusive_scan(const Group& group, T value) {
    return inclusive_scan(group, value, plus<T>());
}

/// The values of all threads before this one, combined; the first thread gets T().
template <class Group, class T, class Operation>
__device__ __forceinline__ T exclusive_scan(const Group& group, T value, Operation operation) {
    const T previous = group.shfl_up(inclusive_scan(group, value, operation), 1);
    return group.thread_rank() == 0 ? T() : previous;
}
template <class Group, class T>
__device__ __forceinline__ T exclusive_scan(const Group& group, T value) {
    return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups
