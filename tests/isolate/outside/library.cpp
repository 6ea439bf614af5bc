// A library that needs libcuda.so.1 and has its own idea of where that is.

extern "C" int cuInit(unsigned);
extern "C" int cuDeviceGetCount(int*);
extern "C" int cuDeviceGetAttribute(int*, int, int);

/// As many as the driver says there are, or a negative error.
extern "C" __attribute__((visibility("default"))) int librarysSms() {
    int count = 0, sms = 0;
    if (const int error = cuInit(0)) return -error;
    if (const int error = cuDeviceGetCount(&count)) return -error;
    if (count == 0) return 0;
    const int error = cuDeviceGetAttribute(&sms, 16, 0);
    return error ? -error : sms;
}
