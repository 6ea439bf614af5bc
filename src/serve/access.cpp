#include "serve/access.h"

#include <fmt/format.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace bulkhead::serve {
namespace {

bool sameBytes(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i)
        difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
    return difference == 0;
}

int digitOf(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/// Of a query: %2F and + stand for / and a space. What is no such code stays as it is.
std::string plainText(std::string_view coded) {
    std::string text;
    for (std::size_t i = 0; i < coded.size(); ++i) {
        const bool code = coded[i] == '%' && i + 2 < coded.size();
        const int high = code ? digitOf(coded[i + 1]) : -1, low = code ? digitOf(coded[i + 2]) : -1;
        if (high >= 0 && low >= 0) {
            text += static_cast<char>(high * 16 + low);
            i += 2;
        } else {
            text += coded[i] == '+' ? ' ' : coded[i];
        }
    }
    return text;
}

}  // namespace

std::string newToken() {
    std::array<unsigned char, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        throw Error("serve: no random numbers: {}", std::strerror(errno));
    std::string token;
    for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
    return token;
}

bool isOwnHost(std::string_view host, std::uint16_t port) {
    return host == fmt::format("127.0.0.1:{}", port) || host == fmt::format("localhost:{}", port);
}

bool isOwnOrigin(std::string_view origin, std::uint16_t port) {
    constexpr std::string_view kScheme = "http://";
    return origin.empty() || (origin.starts_with(kScheme) && isOwnHost(origin.substr(kScheme.size()), port));
}

std::optional<Target> targetBehind(std::string_view token, std::string_view target) {
    if (!target.starts_with('/')) return std::nullopt;
    target.remove_prefix(1);
    const std::string_view path = target.substr(0, target.find('?'));
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos || !sameBytes(path.substr(0, slash), token)) return std::nullopt;
    Target found{std::string(path.substr(slash)), {}};
    std::string_view query = target.substr(std::min(path.size() + 1, target.size()));
    while (!query.empty()) {
        const std::string_view pair = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(pair.size() + 1, query.size()));
        const std::size_t sign = std::min(pair.find('='), pair.size());
        found.query[plainText(pair.substr(0, sign))] = plainText(pair.substr(std::min(sign + 1, pair.size())));
    }
    return found;
}

}  // namespace bulkhead::serve
