#pragma once

#include <array>

namespace bulkhead::report {

/// Colors of series, in order: apart for people who confuse red and green, and at least 3:1 against the page
/// (WCAG 1.4.11).
inline constexpr const char* kLightPage = "#ffffff";
inline constexpr std::array<const char*, 8> kLightSeries = {"#0067a8", "#c2490b", "#007a5a", "#a8447f",
                                                            "#8a6500", "#3d4650", "#6450b0", "#007d8f"};
inline constexpr const char* kDarkPage = "#15181c";
inline constexpr std::array<const char*, 8> kDarkSeries = {"#62b0f0", "#ff9457", "#43c59e", "#e58fc2",
                                                           "#e3b740", "#c3ccd6", "#a99cf2", "#4fc8d8"};

/// From little to much in even steps: cividis, which looks alike to people with and without color blindness.
inline constexpr std::array<const char*, 10> kHeat = {"#00224e", "#123570", "#3b496c", "#575d6d", "#707173",
                                                      "#8a8678", "#a59c74", "#c3b369", "#e1cc55", "#fee838"};

}  // namespace bulkhead::report
