// What clang calls to put device code into an object file: `fatbinary --create OUT --image=profile=NAME,file=IN...`.
// Images of profile compute_NN are PTX and become entries; those of sm_NN came from our ptxas and are the same text.

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "static_variables.h"

namespace {

using bulkhead::Error;

struct Image {
    unsigned sm = 0;
    std::string file;
};

template <class T>
void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

using Version = std::pair<std::uint16_t, std::uint16_t>;

/// Our headers use instructions that are as old as PTX 6.3, and clang writes the oldest version that has the
/// architecture.
constexpr Version kLowestVersion = {6, 3}, kLowestWithAlloca = {7, 3};

/// clang 19 writes `alloca.u64 %rd1, %rd2, 0;` where the least alignment will do, which is 8. Whether there is one.
bool mendAllocations(std::string& ptx) {
    constexpr std::string_view kAlloca = "alloca.u", kNone = ", 0;";
    bool found = false;
    for (std::size_t at = ptx.find(kAlloca); at != std::string::npos; at = ptx.find(kAlloca, at + 1)) {
        found = true;
        const std::size_t end = ptx.find(';', at);
        if (end != std::string::npos && ptx.compare(end + 1 - kNone.size(), kNone.size(), kNone) == 0)
            ptx[end - 1] = '8';
    }
    return found;
}

/// The version that the text declares, raised where it is too low.
Version raiseVersion(std::string& ptx, Version lowest) {
    constexpr std::string_view kDirective = ".version ";
    const std::size_t at = ptx.find(kDirective);
    const std::size_t end = ptx.find('\n', at);
    Version version;
    if (at == std::string::npos ||
        std::sscanf(ptx.c_str() + at + kDirective.size(), "%hu.%hu", &version.first, &version.second) != 2)
        throw Error("an image has no .version, so it is not PTX");
    if (version >= lowest) return version;
    ptx.replace(at, end - at, fmt::format("{}{}.{}", kDirective, lowest.first, lowest.second));
    return lowest;
}

/// Header of 80 bytes and the text, ended by a zero and padded to 8 bytes.
std::string entry(const Image& image) {
    constexpr std::uint32_t kHeaderBytes = 80;
    constexpr std::uint64_t kHost64Linux = 0x11;
    std::string ptx = bulkhead::readFile(image.file);
    joinStaticVariables(ptx);
    const bool allocates = mendAllocations(ptx);
    const auto [major, minor] = raiseVersion(ptx, allocates ? kLowestWithAlloca : kLowestVersion);
    ptx.append(8 - ptx.size() % 8, '\0');

    std::string bytes;
    append<std::uint16_t>(bytes, 1);  // PTX
    append<std::uint16_t>(bytes, 0x101);
    append<std::uint32_t>(bytes, kHeaderBytes);
    append<std::uint64_t>(bytes, ptx.size());
    append<std::uint32_t>(bytes, 0);  // not compressed
    append<std::uint32_t>(bytes, 64);
    append<std::uint16_t>(bytes, minor);
    append<std::uint16_t>(bytes, major);
    append<std::uint32_t>(bytes, image.sm);
    append<std::uint64_t>(bytes, 0);  // no name
    append<std::uint64_t>(bytes, kHost64Linux);
    bytes.resize(kHeaderBytes, '\0');
    return bytes + ptx;
}

/// "profile=compute_75,file=x.s"
Image parseImage(std::string_view text) {
    constexpr std::string_view kProfile = "profile=", kFile = ",file=";
    const std::size_t comma = text.find(kFile);
    if (!text.starts_with(kProfile) || comma == std::string_view::npos)
        throw Error("--image={}: expected profile=NAME,file=FILE", text);
    const std::string_view profile = text.substr(kProfile.size(), comma - kProfile.size());
    Image image;
    image.file = text.substr(comma + kFile.size());
    const std::size_t digits = profile.find_first_of("0123456789");
    if (digits != std::string_view::npos)
        std::from_chars(profile.data() + digits, profile.data() + profile.size(), image.sm);
    if (image.sm == 0) throw Error("--image={}: no profile such as compute_75", text);
    if (!profile.starts_with("compute_")) image.file.clear();
    return image;
}

void create(int count, char** arguments) {
    constexpr std::string_view kImage = "--image=";
    std::string output;
    std::vector<Image> images;
    for (int i = 1; i < count; ++i) {
        const std::string_view argument = arguments[i];
        if (argument == "--create" && i + 1 < count)
            output = arguments[++i];
        else if (argument.starts_with(kImage))
            images.push_back(parseImage(argument.substr(kImage.size())));
    }
    std::erase_if(images, [](const Image& image) { return image.file.empty(); });
    if (output.empty()) throw Error("usage: fatbinary --create OUT --image=profile=NAME,file=FILE...");
    if (images.empty()) throw Error("there is no PTX among the images");

    std::string entries;
    for (const Image& image : images) entries += entry(image);
    std::string bytes;
    append<std::uint32_t>(bytes, 0xBA55ED50);
    append<std::uint16_t>(bytes, 1);
    append<std::uint16_t>(bytes, 16);
    append<std::uint64_t>(bytes, entries.size());
    bulkhead::writeFile(output, bytes + entries);
}

}  // namespace

int main(int count, char** arguments) {
    try {
        create(count, arguments);
        return 0;
    } catch (const std::exception& e) {
        fmt::print(stderr, "fatbinary: {}\n", e.what());
        return 2;
    }
}
