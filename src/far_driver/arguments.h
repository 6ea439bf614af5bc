#pragma once

#include <algorithm>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "driver/driver_api.h"
#include "far_driver/message.h"

// How a parameter of a driver's call goes to another process and back, told by its type alone: values and handles as
// they are, `const T*` to one T that is read, `T*` to one T that may be read and is written, `const char*` to text,
// `const char**` to where an answer's text goes. What points to anything else has no way here, and does not compile.

namespace bulkhead::far_driver {

using driver::CUresult;
using driver::DriverApi;

template <class T, class... Of>
constexpr bool kIsOneOf = (std::is_same_v<T, Of> || ...);

template <class T>
constexpr bool kIsHandle =
    kIsOneOf<T, driver::CUcontext, driver::CUgreenCtx, driver::CUmodule, driver::CUlibrary, driver::CUkernel,
             driver::CUfunction, driver::CUstream, driver::CUevent, driver::CUarray, driver::CUmipmappedArray,
             driver::CUmemoryPool, driver::CUdevResourceDesc>;

/// Texts that were given to the program, which keeps pointers to them.
inline const char* kept(const std::string& text) {
    static auto* const mutex = new std::mutex;
    static auto* const texts = new std::set<std::string>;
    const std::lock_guard lock(*mutex);
    return texts->insert(text).first->c_str();
}

/// By value. `ask` writes the request and `answered` reads the reply, where the call is made; `Held` is the parameter
/// where it is carried out.
template <class T>
struct Passing {
    static_assert(std::is_arithmetic_v<T> || kIsHandle<T> || std::is_class_v<T>);
    static void ask(Message& request, T value) { request.put(value); }
    static void answered(Message&, T) {}
    struct Held {
        T value;
        explicit Held(Message& request) : value(request.take<T>()) {}
        T argument() { return value; }
        void answer(Message&) const {}
    };
};

template <class T>
requires(!kIsHandle<T*> && !std::is_const_v<T>) struct Passing<T*> {
    static_assert((std::is_arithmetic_v<T> || kIsHandle<T> || std::is_class_v<T>)&&!std::is_same_v<T, char>);
    static void ask(Message& request, T* to) {
        request.put(to != nullptr);
        if (to) request.put(*to);
    }
    static void answered(Message& reply, T* to) {
        if (to) *to = reply.take<T>();
    }
    struct Held {
        bool given;
        T value = {};
        explicit Held(Message& request) : given(request.take<bool>()) {
            if (given) value = request.take<T>();
        }
        T* argument() { return given ? &value : nullptr; }
        void answer(Message& reply) const {
            if (given) reply.put(value);
        }
    };
};

template <class T>
requires(!kIsHandle<const T*>) struct Passing<const T*> {
    static_assert(std::is_class_v<T> || std::is_union_v<T>);
    static void ask(Message& request, const T* from) {
        request.put(from != nullptr);
        if (from) request.put(*from);
    }
    static void answered(Message&, const T*) {}
    struct Held {
        bool given;
        T value = {};
        explicit Held(Message& request) : given(request.take<bool>()) {
            if (given) value = request.take<T>();
        }
        const T* argument() { return given ? &value : nullptr; }
        void answer(Message&) const {}
    };
};

template <>
struct Passing<const char*> {
    static void ask(Message& request, const char* text) {
        request.put(text != nullptr);
        if (text) request.putText(text);
    }
    static void answered(Message&, const char*) {}
    struct Held {
        bool given;
        std::string value;
        explicit Held(Message& request) : given(request.take<bool>()) {
            if (given) value = request.takeText();
        }
        const char* argument() { return given ? value.c_str() : nullptr; }
        void answer(Message&) const {}
    };
};

template <>
struct Passing<const char**> {
    static void ask(Message& request, const char** to) { request.put(to != nullptr); }
    static void answered(Message& reply, const char** to) {
        if (to && reply.take<bool>()) *to = kept(reply.takeText());
    }
    struct Held {
        bool given;
        const char* value = nullptr;
        explicit Held(Message& request) : given(request.take<bool>()) {}
        const char** argument() { return given ? &value : nullptr; }
        void answer(Message& reply) const {
            if (!given) return;
            reply.put(value != nullptr);
            if (value) reply.putText(value);
        }
    };
};

}  // namespace bulkhead::far_driver
