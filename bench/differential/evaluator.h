#pragma once

#include <stdexcept>

#include "program.h"

namespace bulkhead::differential {

/// A program whose outcome PTX leaves open: threads that wait for each other for ever, loops without end.
class Undefined : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Executes a program thread by thread, each until it ends or waits for others. Throws Undefined.
Data evaluate(const Program&);

}  // namespace bulkhead::differential
