#include <algorithm>
#include <optional>

#include "sim/exec/atomics.h"
#include "sim/exec/function_lowering.h"
#include "sim/exec/image_access.h"

// tex, tld4, txq, suld, sust, sured and suq, with handles in registers: PTX's unified mode as CUDA's texture and
// surface objects use it.

namespace bulkhead::sim {

using ptx::Space;
using ptx::Type;

namespace {

struct ImageGeometry {
    std::string_view name;
    std::uint8_t dimensions;
    bool layered, cube;
};
constexpr ImageGeometry kImageGeometries[] = {
    {"1d", 1, false, false}, {"2d", 2, false, false},  {"3d", 3, false, false},  {"a1d", 1, true, false},
    {"a2d", 2, true, false}, {"cube", 3, false, true}, {"acube", 3, true, true},
};

struct ImageQuery {
    std::string_view name;
    ImageSite::Query query;
    std::uint8_t which = 0;
    bool ofTexture = true, ofSurface = true;
};
constexpr ImageQuery kImageQueries[] = {
    {"width", ImageSite::Query::width},
    {"height", ImageSite::Query::height},
    {"depth", ImageSite::Query::depth},
    {"array_size", ImageSite::Query::layers},
    {"channel_data_type", ImageSite::Query::channelType},
    {"channel_order", ImageSite::Query::channelOrder},
    {"num_mipmap_levels", ImageSite::Query::levels, 0, true, false},
    {"num_samples", ImageSite::Query::samples, 0, true, false},
    {"normalized_coords", ImageSite::Query::normalizedCoordinates, 0, true, false},
    {"filter_mode", ImageSite::Query::filterMode, 0, true, false},
    {"addr_mode_0", ImageSite::Query::addressMode, 0, true, false},
    {"addr_mode_1", ImageSite::Query::addressMode, 1, true, false},
    {"addr_mode_2", ImageSite::Query::addressMode, 2, true, false},
    {"memory_layout", ImageSite::Query::memoryLayout, 0, false, true},
};

struct SurfaceType {
    std::string_view name;
    Type type;
    bool isUntyped = false;
};
constexpr SurfaceType kSurfaceTypes[] = {
    {"b8", Type::b8, true}, {"b16", Type::b16, true}, {"b32", Type::b32, true}, {"b64", Type::b64, true},
    {"u32", Type::u32},     {"s32", Type::s32},       {"u64", Type::u64},       {"s64", Type::s64},
};

template <class Entry, std::size_t n>
const Entry* findNamed(const Entry (&table)[n], std::string_view name) {
    const auto found = std::find_if(std::begin(table), std::end(table), [&](const Entry& e) { return e.name == name; });
    return found == std::end(table) ? nullptr : found;
}

bool isCacheOperator(std::string_view m) {
    return m == "ca" || m == "cg" || m == "cs" || m == "cv" || m == "wb" || m == "wt";
}

std::optional<ImageSite::Outside> outsideNamed(std::string_view m) {
    if (m == "trap") return ImageSite::Outside::trap;
    if (m == "clamp") return ImageSite::Outside::clamp;
    if (m == "zero") return ImageSite::Outside::zero;
    return std::nullopt;
}

void setGeometry(const ImageGeometry& geometry, ImageSite& site) {
    site.dimensions = geometry.dimensions;
    site.layered = geometry.layered;
    site.cube = geometry.cube;
}

}  // namespace

bool FunctionLowering::lowerImage(Instr& i) {
    const std::string& opcode = current_->opcode;
    if (opcode == "tex")
        lowerTexture(i);
    else if (opcode == "tld4")
        lowerGather(i);
    else if (opcode == "txq" || opcode == "suq")
        lowerImageQuery(i);
    else if (opcode == "suld" || opcode == "sust")
        lowerSurface(i);
    else if (opcode == "sured")
        lowerSurfaceReduction(i);
    else
        return false;
    return true;
}

/// [handle, ...].
void FunctionLowering::imageHandle(const Operand& address, ImageSite& site) {
    if (address.kind != Operand::Kind::address) refuse("a texture or surface in brackets is wanted");
    if (!address.baseIsReg)
        refuse("textures and surfaces that a module declares are not supported, only handles in 64-bit registers");
    if (ptx::bitsOf(address.type) != 64 || address.integer != 0) refuse("the handle is a 64-bit register");
    if (address.parts.size() > 1)
        refuse("a sampler apart from its texture is not supported: use .texmode_unified, and texture objects");
    site.handle = readRegister(address);
}

void FunctionLowering::imageVector(const Operand& operand, unsigned count, Type type, Slot* slots) {
    std::vector<Operand> elements;
    if (operand.kind == Operand::Kind::vector)
        elements = operand.parts;
    else if (operand.kind == Operand::Kind::reg && operand.element < 0 && registerOf(operand).vector > 1)
        elements = elementsOf(operand, registerOf(operand).vector);
    else
        elements.push_back(operand);
    // Three elements are written as four, of which the last says nothing.
    const std::size_t written = count == 3 ? 4 : count;
    if (elements.size() != written && elements.size() != count)
        refuse(fmt::format("{} coordinates expected, {} given", written, elements.size()));
    for (unsigned e = 0; e < count; ++e) {
        const Type wanted = type == Type::f32 && elements[e].kind != Operand::Kind::integer ? Type::f32 : Type::b32;
        slots[e] = source(elements[e], wanted);
    }
}

/// {layer, x, y, z}, as many as the geometry has.
void FunctionLowering::imageCoordinates(const Operand& address, Type type, ImageSite& site) {
    if (address.parts.empty()) refuse("the instruction has no coordinates");
    Slot slots[4];
    const unsigned count = site.dimensions + (site.layered ? 1u : 0u);
    imageVector(address.parts[0], count, type, slots);
    if (site.layered) site.layer = slots[0];
    std::copy(slots + (site.layered ? 1 : 0), slots + count, site.coordinate);
}

void FunctionLowering::lowerTexture(Instr& i) {
    ImageSite site;
    const ImageGeometry* geometry = nullptr;
    std::vector<Type> types;
    bool isVector = false;
    for (const std::string& m : current_->modifiers) {
        if (const ImageGeometry* g = findNamed(kImageGeometries, m))
            geometry = g;
        else if (m == "base")
            site.detail = ImageSite::Detail::base;
        else if (m == "level")
            site.detail = ImageSite::Detail::level;
        else if (m == "grad")
            site.detail = ImageSite::Detail::gradient;
        else if (m == "v4")
            isVector = true;
        else if (m == "f32" || m == "s32" || m == "u32")
            types.push_back(m == "f32" ? Type::f32 : Type::b32);
        else
            refuse(fmt::format("'.{}' is not supported for tex", m));
    }
    if (!geometry || !isVector || types.size() != 2)
        refuse("tex has a geometry (1d, 2d, 3d, a1d, a2d, cube, acube), .v4, and two types of f32, s32 and u32");
    setGeometry(*geometry, site);
    site.realCoordinates = types[1] == Type::f32;
    if (site.cube && !site.realCoordinates) refuse("the coordinates of a cube are .f32");
    const auto& operands = current_->operands;
    const std::size_t extra = site.detail == ImageSite::Detail::level      ? 1
                              : site.detail == ImageSite::Detail::gradient ? 2
                                                                           : 0;
    expectOperands(2 + extra, 2 + extra);
    const std::vector<Operand> elements = elementsOf(operands[0], 4);
    imageHandle(operands[1], site);
    imageCoordinates(operands[1], types[1], site);
    if (site.detail == ImageSite::Detail::level)
        site.level = source(operands[2], site.realCoordinates ? Type::f32 : Type::b32);
    if (site.detail == ImageSite::Detail::gradient) {
        if (!site.realCoordinates) refuse("gradients are .f32");
        imageVector(operands[2], site.dimensions, Type::f32, site.alongX);
        imageVector(operands[3], site.dimensions, Type::f32, site.alongY);
    }
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = Space::global;
    i.run = runTexture;
    for (unsigned e = 0; e < 4; ++e) i.dst[e] = result(elements[e], types[0] == Type::f32 ? Type::f32 : Type::b32);
    i.dstCount = 4;
    i.extra = static_cast<std::uint32_t>(code_.imageSites.size());
    code_.imageSites.push_back(site);
}

void FunctionLowering::lowerGather(Instr& i) {
    ImageSite site;
    const ImageGeometry* geometry = nullptr;
    std::vector<Type> types;
    bool isVector = false, hasChannel = false;
    for (const std::string& m : current_->modifiers) {
        if (const ImageGeometry* g = findNamed(kImageGeometries, m); g && (g->dimensions == 2 || g->cube)) {
            geometry = g;
        } else if (m == "r" || m == "g" || m == "b" || m == "a") {
            site.which = static_cast<std::uint8_t>(std::string_view("rgba").find(m));
            hasChannel = true;
        } else if (m == "v4") {
            isVector = true;
        } else if (m == "f32" || m == "s32" || m == "u32") {
            types.push_back(m == "f32" ? Type::f32 : Type::b32);
        } else {
            refuse(fmt::format("'.{}' is not supported for tld4", m));
        }
    }
    if (!geometry || !hasChannel || !isVector || types.size() != 2 || types[1] != Type::f32)
        refuse("tld4 has a channel (r, g, b, a), a geometry (2d, a2d, cube, acube), .v4, a type and .f32");
    setGeometry(*geometry, site);
    site.realCoordinates = true;
    expectOperands(2, 2);
    const std::vector<Operand> elements = elementsOf(current_->operands[0], 4);
    imageHandle(current_->operands[1], site);
    imageCoordinates(current_->operands[1], Type::f32, site);
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = Space::global;
    i.run = runTextureGather;
    for (unsigned e = 0; e < 4; ++e) i.dst[e] = result(elements[e], types[0] == Type::f32 ? Type::f32 : Type::b32);
    i.dstCount = 4;
    i.extra = static_cast<std::uint32_t>(code_.imageSites.size());
    code_.imageSites.push_back(site);
}

void FunctionLowering::lowerImageQuery(Instr& i) {
    ImageSite site;
    site.ofSurface = current_->opcode == "suq";
    bool found = false;
    for (const std::string& m : current_->modifiers) {
        if (m == "b32") continue;
        if (m == "level" && !site.ofSurface) {
            site.detail = ImageSite::Detail::level;
            continue;
        }
        const ImageQuery* query = findNamed(kImageQueries, m);
        if (!query || !(site.ofSurface ? query->ofSurface : query->ofTexture))
            refuse(fmt::format("{} does not know '.{}'", current_->opcode, m));
        site.query = query->query;
        site.which = query->which;
        found = true;
    }
    if (!found) refuse("the instruction does not say what to query");
    const std::size_t operands = site.detail == ImageSite::Detail::level ? 3 : 2;
    expectOperands(operands, operands);
    imageHandle(current_->operands[1], site);
    if (!current_->operands[1].parts.empty()) refuse("a query has no coordinates");
    if (operands == 3) site.level = source(current_->operands[2], Type::b32);
    i.run = runImageQuery;
    i.dst[0] = result(current_->operands[0], Type::b32);
    i.dstCount = 1;
    i.extra = static_cast<std::uint32_t>(code_.imageSites.size());
    code_.imageSites.push_back(site);
}

void FunctionLowering::lowerSurface(Instr& i) {
    const bool stores = current_->opcode == "sust";
    ImageSite site;
    site.ofSurface = true;
    const ImageGeometry* geometry = nullptr;
    Type type = Type::none;
    unsigned count = 1;
    bool hasForm = false;
    for (const std::string& m : current_->modifiers) {
        if (const ImageGeometry* g = findNamed(kImageGeometries, m); g && !g->cube) {
            geometry = g;
        } else if (m == "b") {
            hasForm = true;
        } else if (m == "p" && stores) {
            hasForm = site.formatted = true;
        } else if (m == "v2" || m == "v4") {
            count = m == "v2" ? 2 : 4;
        } else if (const SurfaceType* named = findNamed(kSurfaceTypes, m); named && named->isUntyped) {
            type = named->type;
        } else if (const std::optional<ImageSite::Outside> outside = outsideNamed(m)) {
            site.outside = *outside;
        } else if (!isCacheOperator(m)) {
            refuse(fmt::format("'.{}' is not supported for {}", m, current_->opcode));
        }
    }
    const unsigned bytes = ptx::bitsOf(type) / 8 * count;
    if (!geometry || type == Type::none || !hasForm)
        refuse("a surface access has .b, a geometry (1d, 2d, 3d, a1d, a2d), and a type of b8, b16, b32 and b64");
    if (bytes > 16) refuse("surfaces have no texels of more than 16 bytes");
    if (site.formatted && type != Type::b32) refuse("sust.p takes .b32");
    setGeometry(*geometry, site);
    expectOperands(2, 2);
    const Operand& address = current_->operands[stores ? 0 : 1];
    imageHandle(address, site);
    imageCoordinates(address, Type::b32, site);
    const std::vector<Operand> elements = elementsOf(current_->operands[stores ? 1 : 0], count);
    const unsigned width = widthOf(elements, type);
    if (width < ptx::bitsOf(type)) refuse(fmt::format(".{} does not fit in registers of {} bits", nameOf(type), width));
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = Space::global;
    i.elementBytes = static_cast<std::uint8_t>(ptx::bitsOf(type) / 8);
    i.elements = static_cast<std::uint8_t>(count);
    i.addressIs32 = width != 64;  // how wide the data's registers are
    if (stores) {
        i.run = runSurfaceStore;
        for (unsigned e = 0; e < count; ++e) i.src[1 + e] = dataSource(elements[e], type, width);
        i.srcCount = static_cast<std::uint8_t>(1 + count);
    } else {
        i.run = runSurfaceLoad;
        for (unsigned e = 0; e < count; ++e) i.dst[e] = dataResult(elements[e]);
        i.dstCount = static_cast<std::uint8_t>(count);
    }
    i.extra = static_cast<std::uint32_t>(code_.imageSites.size());
    code_.imageSites.push_back(site);
}

void FunctionLowering::lowerSurfaceReduction(Instr& i) {
    ImageSite site;
    site.ofSurface = true;
    const ImageGeometry* geometry = nullptr;
    std::string_view operation;
    Type type = Type::none;
    bool hasForm = false;
    for (const std::string& m : current_->modifiers) {
        if (const ImageGeometry* g = findNamed(kImageGeometries, m); g && !g->cube && !g->layered) {
            geometry = g;
        } else if (m == "b" || m == "p") {
            hasForm = true;
            site.formatted = m == "p";
        } else if (m == "add" || m == "min" || m == "max" || m == "and" || m == "or") {
            operation = m;
        } else if (const std::optional<ImageSite::Outside> outside = outsideNamed(m)) {
            site.outside = *outside;
        } else if (const SurfaceType* named = findNamed(kSurfaceTypes, m)) {
            type = named->type;
        } else {
            refuse(fmt::format("'.{}' is not supported for sured", m));
        }
    }
    const Handler handler = surfaceReduction(operation, type, site.formatted);
    if (!geometry || !hasForm || !handler)
        refuse(
            "sured has .b or .p, an operation (add, min, max, and, or), a geometry (1d, 2d, 3d) and a type that the "
            "operation has");
    setGeometry(*geometry, site);
    expectOperands(2, 2);
    imageHandle(current_->operands[0], site);
    imageCoordinates(current_->operands[0], Type::b32, site);
    i.kind = Kind::memory;
    i.opClass = arch::OpClass::memory;
    i.space = Space::global;
    i.elementBytes = static_cast<std::uint8_t>(ptx::bitsOf(type) / 8);
    i.elements = 1;
    i.type = type;
    i.run = handler;
    i.src[1] = source(current_->operands[1], type);
    i.srcCount = 2;
    i.extra = static_cast<std::uint32_t>(code_.imageSites.size());
    code_.imageSites.push_back(site);
}

}  // namespace bulkhead::sim
