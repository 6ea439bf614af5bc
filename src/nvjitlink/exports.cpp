// The binary interface of NVIDIA's nvJitLink.

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>

#include "nvjitlink/linker.h"

#define BULKHEAD_EXPORT extern "C" __attribute__((visibility("default")))

using bulkhead::nvjitlink::Input;
using bulkhead::nvjitlink::Linker;
using bulkhead::nvjitlink::Result;

namespace {

/// No exception leaves for a program that may be in C.
template <class Body>
int call(Body&& body) noexcept {
    try {
        return static_cast<int>(body());
    } catch (const std::exception&) {
        return static_cast<int>(Result::internal);
    }
}

/// A linker's text with its zero byte; of no text the size is zero, though the byte is written.
Result giveBytes(const std::string& text, std::size_t* bytes) {
    *bytes = text.empty() ? 0 : text.size() + 1;
    return Result::success;
}
Result giveText(const std::string& text, void* to) {
    std::memcpy(to, text.c_str(), text.size() + 1);
    return Result::success;
}

}  // namespace

BULKHEAD_EXPORT int nvJitLinkVersion(unsigned* major, unsigned* minor) {
    return call([&] {
        if (!major || !minor) return Result::nullInput;
        *major = BULKHEAD_CUDA_MAJOR;
        *minor = BULKHEAD_CUDA_MINOR;
        return Result::success;
    });
}

BULKHEAD_EXPORT int nvJitLinkCreate(Linker** handle, std::uint32_t count, const char* const* options) {
    return call([&] {
        if (!handle || !options) return Result::nullInput;
        auto linker = std::make_unique<Linker>();
        const Result result = linker->setOptions(options, count);
        *handle = linker.release();  // a failed one has the log
        return result;
    });
}
BULKHEAD_EXPORT int nvJitLinkDestroy(Linker** handle) {
    return call([&] {
        if (!handle || !*handle) return Result::nullInput;
        delete *handle;
        *handle = nullptr;
        return Result::success;
    });
}
BULKHEAD_EXPORT int nvJitLinkAddData(Linker* linker, int type, const void* data, std::size_t bytes, const char* name) {
    return call([&] {
        if (!linker || !data) return Result::nullInput;
        return linker->addData(static_cast<Input>(type), {static_cast<const std::uint8_t*>(data), bytes}, name);
    });
}
BULKHEAD_EXPORT int nvJitLinkAddFile(Linker* linker, int type, const char* path) {
    return call([&] { return linker && path ? linker->addFile(static_cast<Input>(type), path) : Result::nullInput; });
}
BULKHEAD_EXPORT int nvJitLinkComplete(Linker* linker) {
    return call([&] { return linker ? linker->complete() : Result::nullInput; });
}
BULKHEAD_EXPORT int nvJitLinkGetLinkedCubinSize(Linker* linker, std::size_t* bytes) {
    return call([&] {
        if (!linker || !bytes) return Result::nullInput;
        return linker->isComplete() ? giveBytes(linker->image(), bytes) : Result::internal;
    });
}
BULKHEAD_EXPORT int nvJitLinkGetLinkedCubin(Linker* linker, void* cubin) {
    return call([&] {
        if (!linker || !cubin) return Result::nullInput;
        return linker->isComplete() ? giveText(linker->image(), cubin) : Result::internal;
    });
}
BULKHEAD_EXPORT int nvJitLinkGetLinkedPtxSize(Linker* linker, std::size_t* bytes) {
    return call([&] {
        if (!linker || !bytes) return Result::nullInput;
        if (!linker->givesPtx()) return Result::invalidInput;
        return linker->isComplete() ? giveBytes(linker->image(), bytes) : Result::internal;
    });
}
BULKHEAD_EXPORT int nvJitLinkGetLinkedPtx(Linker* linker, char* ptx) {
    return call([&] {
        if (!linker || !ptx) return Result::nullInput;
        if (!linker->givesPtx()) return Result::invalidInput;
        return linker->isComplete() ? giveText(linker->image(), ptx) : Result::internal;
    });
}
BULKHEAD_EXPORT int nvJitLinkGetErrorLogSize(Linker* linker, std::size_t* bytes) {
    return call([&] { return linker && bytes ? giveBytes(linker->errors(), bytes) : Result::nullInput; });
}
BULKHEAD_EXPORT int nvJitLinkGetErrorLog(Linker* linker, char* log) {
    return call([&] { return linker && log ? giveText(linker->errors(), log) : Result::nullInput; });
}
BULKHEAD_EXPORT int nvJitLinkGetInfoLogSize(Linker* linker, std::size_t* bytes) {
    return call([&] { return linker && bytes ? giveBytes("", bytes) : Result::nullInput; });
}
BULKHEAD_EXPORT int nvJitLinkGetInfoLog(Linker* linker, char* log) {
    return call([&] { return linker && log ? giveText("", log) : Result::nullInput; });
}

// The names that the headers of each release call.
#define BULKHEAD_ALIAS(call, release, parameters) \
    BULKHEAD_EXPORT int __nvJitLink##call##_##release parameters __attribute__((alias("nvJitLink" #call)));
#define BULKHEAD_RELEASE(release)                                                           \
    BULKHEAD_ALIAS(Create, release, (Linker**, std::uint32_t, const char* const*))          \
    BULKHEAD_ALIAS(Destroy, release, (Linker**))                                            \
    BULKHEAD_ALIAS(AddData, release, (Linker*, int, const void*, std::size_t, const char*)) \
    BULKHEAD_ALIAS(AddFile, release, (Linker*, int, const char*))                           \
    BULKHEAD_ALIAS(Complete, release, (Linker*))                                            \
    BULKHEAD_ALIAS(GetLinkedCubinSize, release, (Linker*, std::size_t*))                    \
    BULKHEAD_ALIAS(GetLinkedCubin, release, (Linker*, void*))                               \
    BULKHEAD_ALIAS(GetLinkedPtxSize, release, (Linker*, std::size_t*))                      \
    BULKHEAD_ALIAS(GetLinkedPtx, release, (Linker*, char*))                                 \
    BULKHEAD_ALIAS(GetErrorLogSize, release, (Linker*, std::size_t*))                       \
    BULKHEAD_ALIAS(GetErrorLog, release, (Linker*, char*))                                  \
    BULKHEAD_ALIAS(GetInfoLogSize, release, (Linker*, std::size_t*))                        \
    BULKHEAD_ALIAS(GetInfoLog, release, (Linker*, char*))
#include "releases.inc"
