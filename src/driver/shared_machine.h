#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "arch/device_profile.h"
#include "sim/machine.h"

namespace bulkhead::driver {

struct Driver;

/// A simulated GPU that several processes use at once, each by threads of this one that call for it.
///
/// Time passes as it does for one process: in calls that wait. Of those, one runs the simulation at a time. It stops
/// where another call comes, which finds the GPU as it is then, and where what another one waits for has happened. A
/// process that is alone sees what it would see on a GPU of its own.
class SharedMachine {
  public:
    SharedMachine(arch::DeviceProfile, sim::Machine::Options, sim::Sharing);

    const std::shared_ptr<sim::Machine>& gpu() const { return gpu_; }
    sim::Sharing sharing() const { return sharing_; }

    // Under the driver's lock:
    void join(Driver&);
    void leave(Driver&);
    /// Runs the simulation by `run`, or lets another call do so, until `done`. Throws Failure where the process has
    /// gone meanwhile.
    void simulate(const std::function<bool()>& done, const std::function<void(sim::Machine&)>& run);
    /// A kernel's fault is one of every context that runs beside it, as under MPS: there is one hardware context for
    /// all of them.
    void spreadFaults();
    /// Throws Failure while a process that has had a fault is still there, where a new context would run beside it.
    void admit(sim::Sharing) const;

    struct Use {
        std::size_t processes = 0;
        Bytes bytes = 0, freeBytes = 0;
    };
    Use use();

    /// Lets time pass for what nobody waits for, until a call comes. To be asked again and again, by a thread that
    /// calls for nobody.
    void workWhileNobodyCalls();

    /// A call, from before it has the lock until after.
    class Turn {
      public:
        explicit Turn(SharedMachine*);
        ~Turn();
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;
        void come() const;  ///< it has the lock

      private:
        SharedMachine* machine_;
    };

  private:
    struct Waiter {
        const std::function<bool()>* done;
        const Driver* driver;
        bool mayGoOn() const;
    };
    bool shouldPause() const;

    std::shared_ptr<sim::Machine> gpu_;
    sim::Sharing sharing_;
    std::vector<Driver*> drivers_;
    std::set<const Driver*> faulty_;
    std::uint64_t failuresSeen_ = 0;
    std::list<Waiter> waiters_;
    const Waiter* running_ = nullptr;
    std::atomic<unsigned> coming_ = 0;  ///< calls that want the lock
    std::atomic<std::uint64_t> calls_ = 0;
    std::uint64_t callsSeen_ = 0;
    unsigned quietLooks_ = 0;
    bool workLeft_ = false;
    std::condition_variable_any changed_;
};

/// What one of its processes has there: a driver of its own. It goes away with everything made by it, at once.
class ProcessDriver {
  public:
    explicit ProcessDriver(std::shared_ptr<SharedMachine>);
    ~ProcessDriver();
    ProcessDriver(const ProcessDriver&) = delete;
    ProcessDriver& operator=(const ProcessDriver&) = delete;

    /// Calls for it that wait end, with an error.
    void abandon();
    /// What its kernels have printed since.
    std::string takePrinted();

    /// For as long as it lives, this thread calls for the process.
    class Scope {
      public:
        explicit Scope(ProcessDriver&);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Driver* before_;
    };

  private:
    std::shared_ptr<SharedMachine> machine_;
    std::unique_ptr<Driver> driver_;
};

/// What of this process's memory a call of this thread may use for one elsewhere, for as long as it lives: no address
/// that another process names is one here.
class HostWindow {
  public:
    HostWindow(const void* first, std::size_t bytes);
    ~HostWindow();
    HostWindow(const HostWindow&) = delete;
    HostWindow& operator=(const HostWindow&) = delete;

    static bool holds(std::uint64_t address);
};

/// Ends what a process has running and queued.
void discardWorkOf(Driver&);

}  // namespace bulkhead::driver
