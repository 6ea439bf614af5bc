#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace bulkhead::dissect {

/// One thing that was found, and how sure it is. A value of std::monostate means undecided; the evidence says why.
struct Finding {
    std::string name;
    Value value;
    std::string unit;
    double confidence = 1;
    std::string evidence;
};

/// Hears what dissect does. Every call may be ignored.
class Listener {
  public:
    virtual ~Listener() = default;
    virtual void step(const std::string& /*what*/) {}
    virtual void progress(double /*fraction of the step*/) {}
    virtual void found(const Finding&) {}
};

}  // namespace bulkhead::dissect
