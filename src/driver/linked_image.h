#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ptx/module.h"

namespace bulkhead::driver {

/// What a linker makes of modules in PTX that were compiled apart: a text of all of them, so that whoever looks at it
/// can read it. Modules are loaded from it as from any other image.
class LinkedImage {
  public:
    /// Throws Error unless it is PTX.
    static void expectPtx(const std::string& text);

    /// Adds a text, up to its end or a zero byte. Throws Error if it defines a name that is defined already, and is as
    /// before then.
    void add(std::string text);
    /// Throws Error unless everything that one module needs is in another, or `provide` gives it to them all together.
    /// Of nothing, makes an empty module.
    void complete(const std::function<void(ptx::Module&)>& provide = {});

    const std::string& text() const { return text_; }

  private:
    std::string text_;
};

/// The texts of a linked image, or the one of any other.
std::vector<std::string> linkedTexts(const std::string& image);

}  // namespace bulkhead::driver
