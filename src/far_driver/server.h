#pragma once

#include <functional>
#include <memory>
#include <string>

#include "driver/shared_machine.h"
#include "far_driver/far_driver.h"

namespace bulkhead::far_driver {

/// Has a simulated GPU and lends it to other processes, which call by farDriver(). A thread here answers each thread
/// there. A process is there as long as its first connection is: whatever ends it, what it had made and what it had
/// running is gone.
class Server {
  public:
    struct Options {
        bool anybody = false;                ///< of any user may come
        std::function<std::string()> about;  ///< what is told to those who come
    };
    /// Listens from now on. Throws Error.
    Server(Place, std::shared_ptr<driver::SharedMachine>, Options);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;

    /// Until `ended` says so, until it is told to end, or until its place is gone. Those who are there lose the GPU.
    void run(const std::function<bool()>& ended);

    struct State;

  private:
    std::unique_ptr<State> state_;
};

}  // namespace bulkhead::far_driver
