#pragma once

#include <filesystem>
#include <string>

#include "report/browser.h"

namespace bulkhead::report {

/// Wide and on a phone, light and dark: nothing of the page is cut off, nothing overlaps, its scripts complain of
/// nothing, and axe-core finds nothing wrong. `name`: of the screenshots (Browser::keepScreenshot).
void expectGoodPage(Browser&, const std::filesystem::path& page, const std::string& name);

}  // namespace bulkhead::report
