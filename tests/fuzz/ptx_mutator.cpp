// Bytes changed at random are hardly ever PTX. Two thirds of the inputs are made by changes that mean something: whole
// lines come, go and change places, and words take the place of others.

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

namespace {

using Engine = std::minstd_rand;

std::size_t below(Engine& engine, std::size_t bound) {
    return bound ? engine() % bound : 0;
}

std::vector<std::string_view> linesOf(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

bool isWordCharacter(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '%' || c == '$' || c == '.';
}

/// A word at or behind a place; empty if there is none.
std::string_view wordFrom(std::string_view text, std::size_t at) {
    while (at < text.size() && !isWordCharacter(text[at])) ++at;
    std::size_t end = at;
    // Dots begin the parts of an instruction's name: these are words of their own.
    while (end < text.size() && isWordCharacter(text[end]) && (end == at || text[end] != '.')) ++end;
    return text.substr(std::min(at, text.size()), end - std::min(at, end));
}

const char* const kWords[] = {"0",
                              "1",
                              "-1",
                              "31",
                              "32",
                              "63",
                              "64",
                              "255",
                              "65535",
                              "2147483648",
                              "4096",
                              ".u8",
                              ".s8",
                              ".u16",
                              ".s16",
                              ".b16",
                              ".u32",
                              ".s32",
                              ".b32",
                              ".f32",
                              ".u64",
                              ".s64",
                              ".b64",
                              ".f64",
                              ".f16",
                              ".f16x2",
                              ".bf16",
                              ".pred",
                              ".rn",
                              ".rz",
                              ".rm",
                              ".rp",
                              ".rni",
                              ".rzi",
                              ".sat",
                              ".ftz",
                              ".lo",
                              ".hi",
                              ".wide",
                              ".approx",
                              ".cc",
                              ".sync",
                              ".global",
                              ".shared",
                              ".local",
                              ".const",
                              ".param",
                              ".v2",
                              ".v4",
                              ".eq",
                              ".ne",
                              ".lt",
                              ".ge",
                              ".and",
                              ".or",
                              ".xor",
                              ".uni",
                              ".aligned",
                              ".volatile",
                              ".relaxed",
                              "add",
                              "sub",
                              "mul",
                              "mad",
                              "fma",
                              "div",
                              "rem",
                              "shl",
                              "shr",
                              "shf",
                              "setp",
                              "selp",
                              "slct",
                              "set",
                              "mov",
                              "cvt",
                              "cvta",
                              "ld",
                              "st",
                              "atom",
                              "red",
                              "vote",
                              "shfl",
                              "match",
                              "redux",
                              "bar",
                              "barrier",
                              "membar",
                              "fence",
                              "bra",
                              "brx",
                              "call",
                              "ret",
                              "exit",
                              "trap",
                              "bfe",
                              "bfi",
                              "bfind",
                              "brev",
                              "clz",
                              "popc",
                              "prmt",
                              "lop3",
                              "sad",
                              "dp4a",
                              "dp2a",
                              "abs",
                              "neg",
                              "min",
                              "max",
                              "rcp",
                              "sqrt",
                              "sin",
                              "ex2",
                              "lg2",
                              "isspacep",
                              "%tid.x",
                              "%ctaid.x",
                              "%laneid",
                              "%clock64",
                              ".b128",
                              "alloca",
                              "stacksave",
                              "stackrestore",
                              "8388608",
                              "mbarrier",
                              ".init",
                              ".inval",
                              ".arrive",
                              ".arrive_drop",
                              ".expect_tx",
                              ".complete_tx",
                              ".test_wait",
                              ".try_wait",
                              ".parity",
                              ".pending_count",
                              ".noComplete",
                              ".shared::cta",
                              ".shared::cluster",
                              ".release",
                              ".acquire",
                              ".cta",
                              ".cluster",
                              ".v8",
                              ".exch",
                              ".cas",
                              ".nc",
                              "mapa",
                              "getctarank",
                              "elect",
                              "setmaxnreg",
                              ".inc",
                              ".dec",
                              "griddepcontrol",
                              ".wait",
                              ".launch_dependents",
                              ".reqnctapercluster",
                              ".explicitcluster",
                              ".maxclusterrank",
                              "%cluster_ctaid.x",
                              "%cluster_ctarank",
                              "cp",
                              ".async",
                              ".bulk",
                              ".tensor",
                              ".commit_group",
                              ".wait_group",
                              ".bulk_group",
                              ".mbarrier::complete_tx::bytes",
                              "mma",
                              "wmma",
                              "wgmma",
                              "ldmatrix",
                              "stmatrix",
                              "movmatrix",
                              ".mma_async",
                              ".m16n8k8",
                              ".m16n8k16",
                              ".m16n8k32",
                              ".m8n8k4",
                              ".m16n16k16",
                              ".m64n8k16",
                              ".m8n8",
                              ".x1",
                              ".x2",
                              ".x4",
                              ".trans",
                              ".row",
                              ".col",
                              ".load",
                              ".store",
                              ".a",
                              ".b",
                              ".c",
                              ".d",
                              ".s32",
                              ".e4m3",
                              ".e5m2",
                              ".tf32",
                              ".b1",
                              ".popc",
                              ".satfinite",
                              ".sp",
                              "nanosleep",
                              "tensormap",
                              ".replace",
                              ".cp_fenceproxy",
                              ".tile",
                              ".global_address",
                              ".global_stride",
                              ".elemtype",
                              ".b1024",
                              ".tensormap::generic",
                              ".proxy",
                              ".gpu"};

std::string changed(std::string_view text, Engine& engine) {
    const std::vector<std::string_view> lines = linesOf(text);
    if (lines.empty()) return std::string(text);
    std::vector<std::string_view> result = lines;
    const auto any = [&] { return below(engine, result.size()); };
    switch (below(engine, 6)) {
        case 0:
            result.erase(result.begin() + static_cast<std::ptrdiff_t>(any()));
            break;
        case 1: {
            const std::string_view line = lines[any()];
            result.insert(result.begin() + static_cast<std::ptrdiff_t>(any()), line);
            break;
        }
        case 2:
            std::swap(result[any()], result[any()]);
            break;
        default: {
            const std::string_view old = wordFrom(text, below(engine, text.size()));
            const std::string_view other = wordFrom(text, below(engine, text.size()));
            const std::string_view word = below(engine, 2) ? other : kWords[below(engine, std::size(kWords))];
            if (old.empty() || word.empty()) break;
            std::string copy(text);
            copy.replace(static_cast<std::size_t>(old.data() - text.data()), old.size(), word);
            return copy;
        }
    }
    std::string copy;
    for (const std::string_view line : result) copy += line;
    return copy;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t maxSize,
                                               unsigned seed) {
    Engine engine(seed);
    if (below(engine, 3) == 0) return LLVMFuzzerMutate(data, size, maxSize);
    std::string text(reinterpret_cast<const char*>(data), size);
    for (std::size_t times = 1 + below(engine, 4); times > 0; --times) text = changed(text, engine);
    size = std::min(text.size(), maxSize);
    if (size) std::memcpy(data, text.data(), size);
    return size;
}

/// The lines of two inputs, some of each.
extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t oneSize,
                                                 const std::uint8_t* other, std::size_t otherSize, std::uint8_t* out,
                                                 std::size_t maxSize, unsigned seed) {
    Engine engine(seed);
    const std::vector<std::string_view> lines = linesOf({reinterpret_cast<const char*>(one), oneSize}),
                                        more = linesOf({reinterpret_cast<const char*>(other), otherSize});
    const std::size_t at = below(engine, lines.size() + 1), from = below(engine, more.size()),
                      count = std::min(more.size() - from, 1 + below(engine, 12));
    std::string text;
    for (std::size_t i = 0; i <= lines.size(); ++i) {
        if (i == at)
            for (std::size_t j = 0; j < count; ++j) text += more[from + j];
        if (i < lines.size()) text += lines[i];
    }
    const std::size_t size = std::min(text.size(), maxSize);
    if (size) std::memcpy(out, text.data(), size);
    return size;
}
