#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/json.h"

namespace bulkhead::fuzz {

/// A reader may return, or throw Error; anything else ends the fuzzer.
template <class Reader>
int tryReading(Reader reader) {
    try {
        reader();
    } catch (const Error&) {
    }
    return 0;
}

/// What we wrote, we can read.
template <class Reader>
void expectReadable(Reader reader) {
    try {
        reader();
    } catch (const Error& error) {
        std::fprintf(stderr, "what was written cannot be read: %s\n", error.what());
        std::abort();
    }
}

/// JSON as another process finds it: of numbers only their digits are left.
template <class Json>
nlohmann::json readAgain(const Json& json) {
    return parseJson(jsonText(json), "<written>");
}

inline std::string textOf(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// A map that was read places every address, and gives every page a color.
template <class Map>
void locateSome(const Map& map) {
    for (const std::uint64_t address : {0ull, 4096ull, 0x12345678abcdef80ull, ~0ull}) {
        const auto place = map.locate(address);
        bool inside = place.slice < map.slices() && place.set < map.setsPerSlice() && place.channel < map.channels() &&
                      place.bank < map.banksPerChannel();
        for (const std::uint64_t page : {4096ull, 65536ull, 2097152ull})
            tryReading([&] { inside = inside && map.color(address, page) < map.colors(page); });
        if (inside) continue;
        std::fprintf(stderr, "address %llx falls outside the map\n", static_cast<unsigned long long>(address));
        std::abort();
    }
}

}  // namespace bulkhead::fuzz
