#pragma once

#define __CHANNEL_DESCRIPTOR_H__

#include "cuda_runtime_api.h"

// cudaCreateChannelDesc<T>: the format of an array whose texels are T.

#ifdef __cplusplus

template <class T_>
inline cudaChannelFormatDesc cudaCreateChannelDesc(void) {
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}

#define BULKHEAD_CHANNELS(type, scalar, kind, y, z, w)                            \
    template <>                                                                   \
    inline cudaChannelFormatDesc cudaCreateChannelDesc<type>(void) {              \
        const int bits = 8 * (int)sizeof(scalar);                                 \
        return cudaCreateChannelDesc(bits, y, z, w, cudaChannelFormatKind##kind); \
    }
#define BULKHEAD_CHANNELS_OF(scalar, name, kind)         \
    BULKHEAD_CHANNELS(scalar, scalar, kind, 0, 0, 0)     \
    BULKHEAD_CHANNELS(name##1, scalar, kind, 0, 0, 0)    \
    BULKHEAD_CHANNELS(name##2, scalar, kind, bits, 0, 0) \
    BULKHEAD_CHANNELS(name##4, scalar, kind, bits, bits, bits)
BULKHEAD_CHANNELS(char, char, Signed, 0, 0, 0)
BULKHEAD_CHANNELS_OF(signed char, char, Signed)
BULKHEAD_CHANNELS_OF(unsigned char, uchar, Unsigned)
BULKHEAD_CHANNELS_OF(short, short, Signed)
BULKHEAD_CHANNELS_OF(unsigned short, ushort, Unsigned)
BULKHEAD_CHANNELS_OF(int, int, Signed)
BULKHEAD_CHANNELS_OF(unsigned int, uint, Unsigned)
BULKHEAD_CHANNELS_OF(float, float, Float)
#undef BULKHEAD_CHANNELS_OF
#undef BULKHEAD_CHANNELS

inline cudaChannelFormatDesc cudaCreateChannelDescHalf(void) {
    return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf1(void) {
    return cudaCreateChannelDesc(16, 0, 0, 0, cudaChannelFormatKindFloat);
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf2(void) {
    return cudaCreateChannelDesc(16, 16, 0, 0, cudaChannelFormatKindFloat);
}
inline cudaChannelFormatDesc cudaCreateChannelDescHalf4(void) {
    return cudaCreateChannelDesc(16, 16, 16, 16, cudaChannelFormatKindFloat);
}

#endif
