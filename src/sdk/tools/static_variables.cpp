#include "static_variables.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace {

constexpr std::string_view kMark = "__static__", kExtern = ".extern ";

bool isOfName(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
}

/// Calls `take` with every name of a text, and what lies between as it is.
template <class Take, class Keep>
void forEachName(std::string_view text, Take take, Keep keep) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && isOfName(text[end])) ++end;
        if (end > at)
            take(text.substr(at, end - at));
        else
            keep(text[end++]);
        at = end;
    }
}

}  // namespace

void joinStaticVariables(std::string& ptx) {
    if (ptx.find(kMark) == std::string::npos) return;
    std::map<std::string, std::string, std::less<>> renamed;
    forEachName(
        ptx,
        [&](std::string_view name) {
            const std::size_t mark = name.find(kMark);
            if (mark != std::string_view::npos && mark > 0) renamed.emplace(name.substr(0, mark), name);
        },
        [](char) {});

    std::string joined;
    joined.reserve(ptx.size());
    for (std::size_t at = 0; at < ptx.size();) {
        const std::size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
        const std::string_view line = std::string_view(ptx).substr(at, end - at);
        at = end;
        std::string changed;
        bool hasOld = false;
        forEachName(
            line,
            [&](std::string_view name) {
                const auto to = renamed.find(name);
                hasOld = hasOld || to != renamed.end();
                changed += to == renamed.end() ? name : std::string_view(to->second);
            },
            [&](char c) { changed += c; });
        // The declaration of what is defined below.
        if (!hasOld || !line.starts_with(kExtern)) joined += changed;
    }
    ptx = std::move(joined);
}
