#pragma once

// Managed variables lie in a section of their own, whose beginning and end the linker names. The runtime lets device
// code use them there.

#if defined(__CUDA__) && !defined(__CUDA_ARCH__)

extern "C" {

extern char __start_bulkhead_managed[] __attribute__((weak, visibility("hidden")));
extern char __stop_bulkhead_managed[] __attribute__((weak, visibility("hidden")));

void __cudaRegisterManagedVar(void** handle, void** host, char* device, const char* name, int external, size_t bytes,
                              int constant, int global);

static __attribute__((constructor)) void __bulkhead_share_managed() {
    if (__start_bulkhead_managed)
        __cudaRegisterManagedVar(0, (void**)__start_bulkhead_managed, 0, "", 0,
                                 (size_t)(__stop_bulkhead_managed - __start_bulkhead_managed), 0, 0);
}
}

#endif
