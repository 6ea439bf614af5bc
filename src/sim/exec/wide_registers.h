#pragma once

namespace bulkhead::sim {

#if defined(__x86_64__) && !defined(__AVX2__)

/// Whether this processor has registers of 32 bytes and fused multiplication and addition, in a program built for
/// those that have not.
inline bool hasWideRegisters() {
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has;
}

template <class Body>
__attribute__((target("avx2,fma"))) void inWideRegisters(const Body& body) {
    body();
}

/// Calls body(), compiled for the widest registers that the processor has: as far as everything in it is inlined.
template <class Body>
void widely(const Body& body) {
    hasWideRegisters() ? inWideRegisters(body) : body();
}

#else

template <class Body>
void widely(const Body& body) {
    body();
}

#endif

}  // namespace bulkhead::sim
