#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cudart/runtime.h"

namespace bulkhead::cudart {

/// The device code of one object file, which its static constructors register. Loaded into a context at its first use
/// there.
struct FatBinary {
    const void* image = nullptr;
    struct ManagedVariable {
        void** hostPointer;
        std::string name;
    };
    std::vector<ManagedVariable> managed;  ///< the host reaches them through pointers that are set at loading
    std::map<CUcontext, CUmodule> modules;
};

/// A __global__ function. Its address is its cudaKernel_t.
struct Kernel {
    FatBinary* binary = nullptr;
    std::string name;
    std::map<CUcontext, CUfunction> functions;
};

/// A __device__, __constant__ or __managed__ variable.
struct Variable {
    FatBinary* binary = nullptr;
    std::string name;
    std::size_t bytes = 0;
    bool isInitialised = false;  ///< of those in a SharedSection
};

/// The program's own memory that device code shares with it: where `bulkhead cc` has put managed variables.
struct SharedSection {
    char *begin, *end;
};

/// Where a variable lies in the current context.
struct Placed {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
};

/// What the program's object files have registered, and where it is loaded. Never destroyed: registration happens in
/// static constructors, its end in static destructors.
class Registry {
  public:
    static Registry& instance();

    FatBinary* add(const void* wrapper);
    void remove(FatBinary*);
    void addKernel(FatBinary*, const void* hostFunction, const char* name);
    void addVariable(FatBinary*, const void* hostVariable, const char* name, std::size_t bytes);
    void addManaged(FatBinary*, void** hostPointer, const char* name, std::size_t bytes);
    /// Variables that lie there are managed ones, whenever they are registered.
    void addSharedSection(SharedSection);
    /// Gives managed variables whose code has been registered what it says that they begin with.
    void initialiseShared();

    /// By the address of its host function, or by its handle. Null if it is neither.
    Kernel* find(const void* function);
    /// In the current context. Throws Failure: no such kernel, or its code cannot be loaded.
    CUfunction function(const void* function);
    Placed variable(const void* hostVariable);
    /// The part of a variable that a copy names; throws Failure where it is not all inside.
    void* partOf(const void* hostVariable, std::size_t bytes, std::size_t offset);
    /// What a program knows a function of the current context by. Null if it is none of its own.
    const void* hostFunction(CUfunction);
    /// Loads the code into the current context if it is not there.
    void load(FatBinary*);

    /// A kernel of a library that the program loaded itself, which may be launched like its own.
    void addLibraryKernel(driver::CUkernel);

    /// The context is gone with all that was loaded into it.
    void forget(CUcontext);

  private:
    CUmodule moduleIn(FatBinary&, CUcontext);
    std::vector<const void*> sharedOf(const FatBinary&) const;
    CUmodule loadSharing(const FatBinary&, const std::vector<const void*>& shared);
    Kernel* findLocked(const void* function);

    std::mutex mutex_;
    std::vector<std::unique_ptr<FatBinary>> binaries_;
    std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels_;  ///< by host function
    std::unordered_map<const void*, Kernel*> handles_;
    std::unordered_map<const void*, Variable> variables_;
    std::unordered_map<const void*, driver::CUkernel> libraryKernels_;
    std::vector<SharedSection> sections_;
};

}  // namespace bulkhead::cudart
