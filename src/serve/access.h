#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace bulkhead::serve {

/// 128 random bits in hexadecimal, which nobody guesses.
std::string newToken();

/// What a request asks for.
struct Target {
    std::string path;  ///< behind the token, without the query
    std::map<std::string, std::string, std::less<>> query;
};

/// Whether a request names this server as its host: a page of another name that was made to resolve to this machine
/// (DNS rebinding) does not.
bool isOwnHost(std::string_view host, std::uint16_t port);

/// Likewise of the page that asks; a request that names none comes from no other page.
bool isOwnOrigin(std::string_view origin, std::uint16_t port);

/// The target "/TOKEN/path?key=value" in parts; nothing if it begins with another token or with none. How long that
/// takes does not tell how much of the token was right.
std::optional<Target> targetBehind(std::string_view token, std::string_view target);

}  // namespace bulkhead::serve
