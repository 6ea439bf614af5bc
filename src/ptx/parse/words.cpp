#include "ptx/parse/words.h"

#include <algorithm>
#include <string>

namespace bulkhead::ptx {

std::optional<Type> typeNamed(std::string_view name) {
    if (name.size() < 2 || name.size() > 6) return std::nullopt;
    for (auto type = static_cast<int>(Type::pred); type <= static_cast<int>(Type::f64); ++type) {
        if (nameOf(static_cast<Type>(type)) == name) return static_cast<Type>(type);
    }
    return std::nullopt;
}

std::optional<Space> variableSpaceNamed(std::string_view name) {
    if (name == "global") return Space::global;
    if (name == "const") return Space::constant;
    if (name == "shared" || name == "shared::cta") return Space::shared;
    if (name == "local") return Space::local;
    if (name == "param") return Space::param;
    if (name == "reg") return Space::reg;
    return std::nullopt;
}

bool isTextureWord(std::string_view name) {
    return name == "tex" || name == "surf" || name == "sampler" || name == "texref" || name == "surfref" ||
           name == "samplerref";
}

bool allDigits(std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool isFraction(const Token& token) {
    return token.kind == Token::Kind::dotWord && allDigits(token.text);
}

SpecialRegister specialRegister(std::string_view name) {
    constexpr std::string_view kVectors[] = {"tid",       "ntid",       "ctaid",         "nctaid",
                                             "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid"};
    constexpr std::string_view kScalars[] = {"laneid",
                                             "warpid",
                                             "nwarpid",
                                             "smid",
                                             "nsmid",
                                             "gridid",
                                             "lanemask_eq",
                                             "lanemask_le",
                                             "lanemask_lt",
                                             "lanemask_ge",
                                             "lanemask_gt",
                                             "clock",
                                             "clock_hi",
                                             "clock64",
                                             "globaltimer",
                                             "globaltimer_lo",
                                             "globaltimer_hi",
                                             "total_smem_size",
                                             "aggr_smem_size",
                                             "dynamic_smem_size",
                                             "is_explicit_cluster",
                                             "cluster_ctarank",
                                             "cluster_nctarank",
                                             "current_graph_exec",
                                             "reserved_smem_offset_begin",
                                             "reserved_smem_offset_end",
                                             "reserved_smem_offset_cap"};
    for (auto vector : kVectors) {
        if (name == vector) return SpecialRegister::vector;
    }
    for (auto scalar : kScalars) {
        if (name == scalar) return SpecialRegister::scalar;
    }
    auto numbered = [&](std::string_view prefix, int count, std::string_view suffix = {}) {
        if (!name.starts_with(prefix) || !name.ends_with(suffix)) return false;
        if (name.size() <= prefix.size() + suffix.size()) return false;
        auto digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
        return allDigits(digits) && digits.size() <= 2 && std::stoi(std::string(digits)) < count;
    };
    bool known =
        numbered("envreg", 32) || numbered("pm", 8) || numbered("pm", 8, "_64") || numbered("reserved_smem_offset_", 2);
    return known ? SpecialRegister::scalar : SpecialRegister::no;
}

}  // namespace bulkhead::ptx
