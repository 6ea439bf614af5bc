#pragma once

#include "../cooperative_groups.h"

// Copies by all threads of a group. They are done when the call returns; that others see them, wait makes sure.

namespace cooperative_groups {
namespace __v1 {

namespace details {

template <class Word, class Group>
__device__ __forceinline__ void copyWords(const Group& group, void* to, const void* from, size_t bytes) {
    const size_t step = group.num_threads();
    for (size_t i = group.thread_rank(); i < bytes / sizeof(Word); i += step) ((Word*)to)[i] = ((const Word*)from)[i];
}
/// In the largest words that places and size allow.
template <class Group>
__device__ __forceinline__ void copyBytes(const Group& group, void* to, const void* from, size_t bytes) {
    const size_t odd = (size_t)to | (size_t)from | bytes;
    if (odd % 16 == 0) {
        copyWords<uint4>(group, to, from, bytes);
    } else if (odd % 4 == 0) {
        copyWords<unsigned int>(group, to, from, bytes);
    } else {
        copyWords<unsigned char>(group, to, from, bytes);
    }
}

}  // namespace details

template <class Group, class T_, class Shape>
__device__ __forceinline__ void memcpy_async(const Group& group, T_* to, const T_* from, const Shape& bytes) {
    details::copyBytes(group, to, from, (size_t)bytes);
}
template <class Group, class Shape>
__device__ __forceinline__ void memcpy_async(const Group& group, void* to, const void* from, const Shape& bytes) {
    details::copyBytes(group, to, from, (size_t)bytes);
}
/// In elements: as many as both have.
template <class Group, class T_, class ToShape, class FromShape>
__device__ __forceinline__ void memcpy_async(const Group& group, T_* to, const ToShape& toCount, const T_* from,
                                             const FromShape& fromCount) {
    const size_t count = (size_t)toCount < (size_t)fromCount ? (size_t)toCount : (size_t)fromCount;
    details::copyBytes(group, to, from, count * sizeof(T_));
}

template <class Group>
__device__ __forceinline__ void wait(const Group& group) {
    group.sync();
}
template <unsigned int Stages, class Group>
__device__ __forceinline__ void wait_prior(const Group& group) {
    group.sync();
}

}  // namespace __v1
}  // namespace cooperative_groups
