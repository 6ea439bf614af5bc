#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "report/report.h"

namespace bulkhead::report {
namespace {

constexpr const char* kLibrary = "librsvg-2.so.2";
constexpr double kPixelsPerUnit = 2;
constexpr int kRgb24 = 1;  // of cairo_format_t

struct Rectangle {
    double x, y, width, height;
};

/// librsvg with the libraries that it brings along. They are opened when a picture is wanted: linked, dozens of them
/// would be needed and loaded wherever the program runs.
struct Rasterizer {
    void* (*rsvg_handle_new_from_data)(const unsigned char*, std::size_t, void** error);
    int (*rsvg_handle_get_intrinsic_size_in_pixels)(void* handle, double* width, double* height);
    int (*rsvg_handle_render_document)(void* handle, void* cairo, const Rectangle*, void** error);
    void (*g_object_unref)(void*);
    void* (*cairo_image_surface_create)(int format, int width, int height);
    void* (*cairo_create)(void* surface);
    int (*cairo_status)(void* cairo);
    void (*cairo_destroy)(void* cairo);
    int (*cairo_surface_write_to_png_stream)(void* surface, int (*)(void*, const unsigned char*, unsigned), void*);
    void (*cairo_surface_destroy)(void* surface);

    Rasterizer() {
        void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) throw Error("PNG: {} is missing: install the Debian package librsvg2-2", kLibrary);
        const auto find = [&](const char* name, auto& function) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
            if (function == nullptr) throw Error("PNG: {} is too old: it has no {}", kLibrary, name);
        };
        find("rsvg_handle_new_from_data", rsvg_handle_new_from_data);
        find("rsvg_handle_get_intrinsic_size_in_pixels", rsvg_handle_get_intrinsic_size_in_pixels);
        find("rsvg_handle_render_document", rsvg_handle_render_document);
        find("g_object_unref", g_object_unref);
        find("cairo_image_surface_create", cairo_image_surface_create);
        find("cairo_create", cairo_create);
        find("cairo_status", cairo_status);
        find("cairo_destroy", cairo_destroy);
        find("cairo_surface_write_to_png_stream", cairo_surface_write_to_png_stream);
        find("cairo_surface_destroy", cairo_surface_destroy);
    }
};

const Rasterizer& rasterizer() {
    static const Rasterizer loaded;
    return loaded;
}

using Owned = std::unique_ptr<void, void (*)(void*)>;

int append(void* bytes, const unsigned char* more, unsigned count) {
    static_cast<std::string*>(bytes)->append(reinterpret_cast<const char*>(more), count);
    return 0;
}

}  // namespace

void expectPng() {
    rasterizer();
}

std::string png(const std::string& svg) {
    const Rasterizer& r = rasterizer();
    const Owned picture(
        r.rsvg_handle_new_from_data(reinterpret_cast<const unsigned char*>(svg.data()), svg.size(), nullptr),
        r.g_object_unref);
    double width = 0, height = 0;
    if (!picture || !r.rsvg_handle_get_intrinsic_size_in_pixels(picture.get(), &width, &height))
        throw Error("PNG: {} does not understand the picture", kLibrary);
    const Rectangle all = {0, 0, std::ceil(width * kPixelsPerUnit), std::ceil(height * kPixelsPerUnit)};
    const Owned surface(r.cairo_image_surface_create(kRgb24, static_cast<int>(all.width), static_cast<int>(all.height)),
                        r.cairo_surface_destroy);
    const Owned canvas(r.cairo_create(surface.get()), r.cairo_destroy);
    std::string bytes;
    if (r.cairo_status(canvas.get()) != 0 ||
        !r.rsvg_handle_render_document(picture.get(), canvas.get(), &all, nullptr) ||
        r.cairo_surface_write_to_png_stream(surface.get(), append, &bytes) != 0)
        throw Error("PNG: {} cannot draw {} x {} pixels", kLibrary, all.width, all.height);
    return bytes;
}

}  // namespace bulkhead::report
