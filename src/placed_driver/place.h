#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "isolate/tenancy.h"

namespace bulkhead::placed {

/// Where the work of this process runs: on the SMs of its partition, in green contexts that take the place of the
/// contexts that the program knows. The program's primary context is the driver's own; what stands for it when it is
/// current is a green one of the same memory and modules.
class Place {
  public:
    /// That of this process, which joins the partition that BULKHEAD_PARTITION names. Null if it could not: why is said
    /// on standard error.
    static Place* ofProcess();
    /// Throws Error: a driver that places no blocks, or that would give more memory than the share.
    explicit Place(std::unique_ptr<isolate::Tenancy>);

    const driver::DriverApi& api() const { return api_; }
    unsigned sms() const { return static_cast<unsigned>(tenancy_->lease.share().sms.size()); }
    Bytes memory() const { return tenancy_->lease.share().memoryBytes; }
    const driver::CUdevResource& resource() const { return resource_; }

    /// The context that is to be current where the program means this one, and the other way round.
    driver::CUcontext inward(driver::CUcontext);
    driver::CUcontext outward(driver::CUcontext) const;

    /// A context of the program's own, made current.
    driver::CUresult create(driver::CUcontext*);
    driver::CUresult destroy(driver::CUcontext);
    /// Everything in the primary context goes, and with it the green one.
    driver::CUresult resetPrimary(driver::CUdevice);

  private:
    void expectMemoryLimit();
    driver::CUresult makeGreen(driver::CUgreenCtx*, driver::CUcontext*) const;
    void makePrimaryAnew();

    std::unique_ptr<isolate::Tenancy> tenancy_;
    const driver::DriverApi& api_;
    driver::CUdevice device_ = 0;
    driver::CUdevResource resource_ = {};  ///< the SMs
    driver::CUcontext primary_ = nullptr, green_ = nullptr;
    bool wasReset_ = false;
    mutable std::mutex mutex_;
    std::map<driver::CUcontext, driver::CUgreenCtx> made_;  ///< of the program's own
};

}  // namespace bulkhead::placed
