#pragma once

#include <string>

#include "base/result.h"

namespace bulkhead::report {

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// For people: four significant digits.
std::string rounded(double);
std::string shown(const Value&);
/// For programs: every digit, and nothing where there is nothing.
std::string exact(const Value&);

bool isNumber(const Value&);
/// NaN where it is no number.
double number(const Value&);

/// "name (unit)".
std::string heading(const Result::Column&);

/// Characters, not bytes: continuation bytes of UTF-8 take no room.
std::size_t width(const std::string&);

/// At most so many characters: what is longer loses its middle, since names differ at their ends.
std::string withoutMiddle(const std::string&, std::size_t most);

/// For the text and the attributes of HTML and SVG. Control characters, which neither allows, become spaces.
std::string escaped(const std::string&);

}  // namespace bulkhead::report
