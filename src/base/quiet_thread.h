#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace bulkhead {

/// A thread that takes no signals: those are for the program's own threads.
template <class Body>
std::thread quietThread(Body&& body) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread started(std::forward<Body>(body));
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
}

}  // namespace bulkhead
