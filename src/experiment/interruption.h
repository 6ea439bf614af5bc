#pragma once

namespace bulkhead::experiment {

/// Ctrl-C was typed: what is under way is taken down in order, and the program ends.
class Interrupted {};

/// From here on Ctrl-C and a request to terminate are noted rather than deadly.
void catchInterrupts();
bool isInterrupted();
void throwIfInterrupted();

}  // namespace bulkhead::experiment
