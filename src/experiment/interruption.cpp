#include "experiment/interruption.h"

#include <csignal>

namespace bulkhead::experiment {
namespace {

volatile std::sig_atomic_t interrupted = 0;

void note(int) {
    interrupted = 1;
}

}  // namespace

void catchInterrupts() {
    std::signal(SIGINT, note);
    std::signal(SIGTERM, note);
}

bool isInterrupted() {
    return interrupted != 0;
}

void throwIfInterrupted() {
    if (isInterrupted()) throw Interrupted();
}

}  // namespace bulkhead::experiment
