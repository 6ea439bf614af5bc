#pragma once

#include <string>
#include <string_view>

namespace bulkhead {

// Parts of sentences that tell people a number.

/// Three significant digits, and no exponent for what people count: "0.0171", "2.46", "1234".
std::string brief(double);

/// "1 run", "3 runs".
std::string counted(std::size_t, std::string_view what);

/// "0.0171 ms" or "1.17 s": a time in the unit that suits it.
std::string duration(double seconds);

}  // namespace bulkhead
