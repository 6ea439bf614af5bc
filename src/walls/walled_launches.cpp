// Modules get walls when they are loaded; launches become rows of blocks that look for work, where no driver places
// them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "driver/fatbin.h"
#include "gpu/simulated_device.h"
#include "ptx/persistent_blocks.h"
#include "walls/walled_context.h"

namespace bulkhead::walls {

using driver::CUfunction;
using driver::CUmodule;
using driver::CUstream;
using ptx::PersistentQueue;

namespace {

constexpr std::size_t kAddedParameters = 1;

/// Offsets of parameters as the driver lays them out.
template <class Parameters>
void layOut(const ptx::Function& kernel, Parameters& parameters) {
    std::size_t offset = 0;
    for (const ptx::Variable& p : kernel.params) {
        offset = (offset + p.align - 1) / p.align * p.align;
        parameters.push_back({offset, static_cast<std::size_t>(p.bytes)});
        offset += p.bytes;
    }
}

/// Whether the program itself declares static shared memory for a kernel.
bool ownsShared(const ptx::Module& module, const ptx::Function& kernel) {
    const auto isOwn = [](const ptx::Variable& v) {
        return v.space == ptx::Space::shared && v.bytes != 0 && v.name != "bulkhead_caller" &&
               !v.name.ends_with("_bulkhead_words");
    };
    return std::any_of(module.variables.begin(), module.variables.end(), isOwn) ||
           std::any_of(kernel.variables.begin(), kernel.variables.end(), isOwn);
}

/// A simulated driver says why itself.
std::string whyNotLoaded(const std::string& ptx) {
    if (!gpu::lastError().empty()) return {};
    const auto word = [&](const char* directive) {
        const std::size_t at = ptx.find(directive);
        return at == std::string::npos ? std::string("?") : ptx.substr(at, ptx.find_first_of("\n,", at) - at);
    };
    return fmt::format("the driver does not load PTX of {} {}: compile with PTX that it knows", word(".version"),
                       word(".target"));
}

}  // namespace

std::span<const std::uint8_t> packedArguments(void** extra) {
    const std::uint8_t* bytes = nullptr;
    std::size_t count = 0;
    for (void** entry = extra; entry != nullptr && *entry != nullptr; entry += 2) {
        if (reinterpret_cast<std::uintptr_t>(entry[0]) == 1) bytes = static_cast<const std::uint8_t*>(entry[1]);
        if (reinterpret_cast<std::uintptr_t>(entry[0]) == 2) count = *static_cast<const std::size_t*>(entry[1]);
    }
    return {bytes, bytes == nullptr ? 0 : count};
}

std::string WalledContext::ptxOf(const void* image) const {
    const std::span<const std::uint8_t> bytes = driver::Fatbin::bytesAt(image);
    if (bytes.empty()) {
        const auto* text = static_cast<const char*>(image);
        if (std::memcmp(text,
                        "\x7f"
                        "ELF",
                        4) == 0)
            throw Failure{driver::CUDA_ERROR_NO_BINARY_FOR_GPU, "machine code cannot be walled: compile to PTX"};
        return text;
    }
    int major = 0, minor = 0;
    constexpr driver::CUdevice_attribute kMajor = 75, kMinor = 76;
    check(inner_.cuDeviceGetAttribute(&major, kMajor, device_), "cannot tell the compute capability");
    check(inner_.cuDeviceGetAttribute(&minor, kMinor, device_), "cannot tell the compute capability");
    const driver::Fatbin fatbin = driver::Fatbin::read(bytes);
    const driver::Fatbin::Entry* entry = fatbin.bestPtx(static_cast<unsigned>(10 * major + minor));
    if (entry == nullptr)
        throw Failure{driver::CUDA_ERROR_NO_BINARY_FOR_GPU,
                      "machine code (" + fatbin.machineTargets() + ") cannot be walled: compile with PTX"};
    return driver::Fatbin::text(*entry);
}

ptx::PersistentModule WalledContext::walled(std::string text) const {
    ptx::PersistentModule result;
    result.text = std::move(text);
    if (space_) {
        const ptx::Module module = ptx::parse(std::move(result.text), "<module>");
        ptx::RewrittenModule translated =
            ptx::withTranslatedAccesses(module, space_->translation(ptx::constantBytesLeft(module)));
        result.text = std::move(translated.text);
        result.refused = std::move(translated.refused);
    }
    if (!hasPersistentBlocks()) return result;
    ptx::PersistentModule placed = ptx::withPersistentBlocks(ptx::parse(std::move(result.text), "<module>"));
    placed.refused.merge(result.refused);
    return placed;
}

CUmodule WalledContext::load(const void* image) {
    Module content;
    ptx::PersistentModule walledModule;
    try {
        walledModule = walled(ptxOf(image));
        const ptx::Module module = ptx::parse(walledModule.text, "<module>");
        for (const ptx::Function& kernel : module.functions) {
            if (!kernel.isKernel || walledModule.refused.contains(kernel.name)) continue;
            Function function;
            function.name = kernel.name;
            layOut(kernel, function.parameters);
            function.own = function.parameters.size() - (hasPersistentBlocks() ? kAddedParameters : 0);
            function.ownsShared = ownsShared(module, kernel);
            const auto& added = walledModule.kernels[kernel.name];
            function.sharedBytesAdded = static_cast<int>(added.sharedBytes);
            function.usesSlots = added.usesSlots;
            if (added.usesSlots && slots_ == 0) slots_ = allocateForQueue(PersistentQueue::kSlots);
            content.kernels.emplace(kernel.name, std::move(function));
        }
    } catch (const Error& error) {
        throw Failure{driver::CUDA_ERROR_INVALID_PTX, error.what()};
    }
    content.refused = std::move(walledModule.refused);
    CUmodule module = nullptr;
    if (const driver::CUresult result = inner_.cuModuleLoadData(&module, walledModule.text.c_str());
        result != driver::CUDA_SUCCESS)
        throw Failure{result, whyNotLoaded(walledModule.text)};
    if (space_) space_->loaded(module);
    modules_.emplace(module, std::move(content));
    return module;
}

void WalledContext::unload(CUmodule module) {
    const auto found = modules_.find(module);
    if (found == modules_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such module inside the walls"};
    for (const CUfunction function : found->second.functions) functions_.erase(function);
    modules_.erase(found);
    if (space_) space_->unloaded(module);
    check(inner_.cuModuleUnload(module), "cannot unload a module");
}

CUfunction WalledContext::function(CUmodule module, const char* name) {
    const auto found = modules_.find(module);
    if (found == modules_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such module inside the walls"};
    if (const auto refused = found->second.refused.find(name); refused != found->second.refused.end())
        throw Failure{driver::CUDA_ERROR_NOT_SUPPORTED, refused->second};
    CUfunction function = nullptr;
    check(inner_.cuModuleGetFunction(&function, module, name), "no kernel of that name");
    if (found->second.functions.insert(function).second) functions_.emplace(function, found->second.kernels.at(name));
    return function;
}

std::vector<std::string> WalledContext::kernelsOf(CUmodule module) const {
    const auto found = modules_.find(module);
    if (found == modules_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such module inside the walls"};
    std::vector<std::string> names;
    for (const auto& [name, kernel] : found->second.kernels) names.push_back(name);
    return names;
}

bool WalledContext::parameter(CUfunction function, std::size_t index, std::size_t* offset, std::size_t* bytes) const {
    const auto found = functions_.find(function);
    if (found == functions_.end() || index >= found->second.own) return false;
    if (offset) *offset = found->second.parameters[index].offset;
    if (bytes) *bytes = found->second.parameters[index].bytes;
    return true;
}

int WalledContext::ownSharedBytes(CUfunction function, int all) const {
    const auto found = functions_.find(function);
    if (found == functions_.end()) return all;
    // The rest may be there for the alignment of dynamic shared memory.
    return found->second.ownsShared ? all - found->second.sharedBytesAdded : 0;
}

void WalledContext::forgetOccupancy(CUfunction function) {
    const auto found = functions_.find(function);
    if (found == functions_.end()) return;
    found->second.occupancy.clear();
    found->second.sharedAllowed = 0;
}

/// A program counts on the shared memory that a kernel may have without being asked for more. Where walls have taken
/// some of it, they ask.
void WalledContext::allowShared(Function& function, CUfunction handle, const Shape& shape) {
    if (shape.sharedBytes <= function.sharedAllowed || function.sharedBytesAdded == 0) return;
    constexpr auto kMost = static_cast<driver::CUfunction_attribute>(driver::FunctionAttribute::maxDynamicSharedBytes);
    constexpr int kAlignment = 16;  // of dynamic shared memory
    const int wanted = static_cast<int>(shape.sharedBytes);
    int most = 0;
    check(inner_.cuFuncGetAttribute(&most, kMost, handle), "cannot tell how much shared memory a kernel may have");
    if (wanted > most + function.sharedBytesAdded + kAlignment) return;  // nor had it without walls: the driver says so
    if (wanted > most && inner_.cuFuncSetAttribute(handle, kMost, wanted) != driver::CUDA_SUCCESS)
        throw Failure{
            driver::CUDA_ERROR_INVALID_VALUE,
            fmt::format("walls leave {} {} bytes of dynamic shared memory, not {}", function.name, most, wanted)};
    function.sharedAllowed = shape.sharedBytes;
}

/// How many blocks of a launch are wanted on each SM inside.
unsigned WalledContext::placesOf(Function& function, CUfunction handle, const Shape& shape, bool* fewerThanFit) const {
    const unsigned threads = shape.block.x * shape.block.y * shape.block.z;
    const auto [known, fresh] = function.occupancy.emplace(std::pair(threads, shape.sharedBytes), 0);
    if (fresh) {
        const driver::CUresult result = inner_.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &known->second, handle, static_cast<int>(threads), shape.sharedBytes);
        if (result != driver::CUDA_SUCCESS) known->second = 0;
    }
    const auto fit = static_cast<unsigned>(std::max(1, known->second));
    const std::uint64_t needed = (shape.blocks() + insideCount_ - 1) / insideCount_;
    *fewerThanFit = needed < fit;
    return *fewerThanFit ? static_cast<unsigned>(needed) : fit;
}

/// A row of physical blocks that is long enough that every place inside that has work gets one, wherever the hardware
/// puts them first.
unsigned WalledContext::fillTurn(Function& function, CUfunction handle, const Shape& shape,
                                 ptx::PersistentLaunch& launch) {
    bool fewerThanFit = false;
    const unsigned each = placesOf(function, handle, shape, &fewerThanFit);
    const std::uint64_t places = std::uint64_t{each} * insideCount_;
    launch.queue = queue_;
    launch.turn = queue_ + 4 * PersistentQueue::turn(turn_);
    launch.before = queue_ + 4 * PersistentQueue::turn(1 - turn_);
    launch.slots = slots_;
    launch.grid[0] = shape.grid.x;
    launch.grid[1] = shape.grid.y;
    launch.grid[2] = shape.grid.z;
    launch.ahead = shape.blocks() > places ? static_cast<std::uint32_t>(shape.blocks() - places) : 0;
    launch.most = fewerThanFit ? each : 0;
    launch.clear = turnUsed_;
    for (std::size_t sm = 0; sm < walls_.sms.size(); ++sm)
        if (walls_.sms[sm]) launch.sms[sm / 32] |= 1u << sm % 32;
    const auto row = static_cast<unsigned>(std::ceil(static_cast<double>(each) * allSms_ * oversubscription_));
    return function.usesSlots ? std::min(row, PersistentQueue::kSlots) : row;
}

/// The next launch counts in the other turn.
void WalledContext::endTurn(const ptx::PersistentLaunch& launch) {
    turn_ = 1 - turn_;
    const unsigned words = PersistentQueue::kPlaced + (launch.most != 0 ? static_cast<unsigned>(allSms_) : 0);
    turnUsed_ = (4 * words + 15) / 16 * 16;
}

/// Nobody knows what runs before it, so its turn is cleared by the graph itself.
void WalledContext::fillCapturedTurn(const Function& function, ptx::PersistentLaunch& launch, CUstream stream) {
    const std::size_t words = PersistentQueue::kPlaced + PersistentQueue::kMaxSms;
    launch.turn = launch.before = graphs_.memoryFor(stream, 4 * words);
    launch.clear = 0;
    if (function.usesSlots) launch.slots = graphs_.memoryFor(stream, 4 * PersistentQueue::kSlots);
    check(inner_.cuMemsetD32Async(launch.turn, 0, words, stream), "cannot clear a queue of blocks");
}

/// Launches of one tenant run one after the other: where the first fills the walls, blocks of the second would find
/// room outside alone.
void WalledContext::takeTurn(CUstream stream) {
    if (lastLaunch_ && *lastLaunch_ != stream) {
        check(inner_.cuEventRecord(order_, *lastLaunch_), "cannot order launches");
        check(inner_.cuStreamWaitEvent(stream, order_, 0), "cannot order launches");
    }
    lastLaunch_ = stream;
}

void WalledContext::launch(CUfunction handle, const Shape& shape, CUstream stream, void** parameters, void** extra,
                           std::span<const driver::CUlaunchAttribute> attributes) {
    const gpu::Dim3 &grid = shape.grid, &block = shape.block;
    const auto found = functions_.find(handle);
    if (found == functions_.end()) throw Failure{driver::CUDA_ERROR_INVALID_HANDLE, "no such kernel inside the walls"};
    if (!hasPersistentBlocks() && !attributes.empty()) {
        std::vector<driver::CUlaunchAttribute> list(attributes.begin(), attributes.end());
        const driver::CUlaunchConfig config = {grid.x,
                                               grid.y,
                                               grid.z,
                                               block.x,
                                               block.y,
                                               block.z,
                                               shape.sharedBytes,
                                               stream,
                                               list.data(),
                                               static_cast<unsigned>(list.size())};
        if (!inner_.cuLaunchKernelEx)
            throw Failure{driver::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "the driver has no launches with attributes"};
        check(inner_.cuLaunchKernelEx(&config, handle, parameters, extra), "");
        return;
    }
    if (!hasPersistentBlocks()) {
        check(inner_.cuLaunchKernel(handle, grid.x, grid.y, grid.z, block.x, block.y, block.z, shape.sharedBytes,
                                    stream, parameters, extra),
              "");
        return;
    }
    Function& function = found->second;
    if (shape.blocks() > 0x7fff'ffff || grid.x == 0 || grid.y == 0 || grid.z == 0)
        throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "a grid of no blocks, or of more than 2^31 - 1"};
    allowShared(function, handle, shape);
    ptx::PersistentLaunch added;
    const unsigned row = fillTurn(function, handle, shape, added);
    const bool isCaptured = graphs_.isCaptured(stream);
    if (isCaptured) {
        graphs_.takeTurn(stream);
        fillCapturedTurn(function, added, stream);
    } else {
        takeTurn(stream);
    }
    if (parameters != nullptr || function.own == 0) {
        std::vector<void*> all(parameters, parameters + function.own);
        all.push_back(&added);
        check(inner_.cuLaunchKernel(handle, row, 1, 1, block.x, block.y, block.z, shape.sharedBytes, stream, all.data(),
                                    nullptr),
              "");
        if (!isCaptured) endTurn(added);
        return;
    }
    const std::span<const std::uint8_t> given = packedArguments(extra);
    const Parameter& last = function.parameters[function.own - 1];
    if (given.size() < last.offset + last.bytes)
        throw Failure{driver::CUDA_ERROR_INVALID_VALUE, "parameters of " + function.name + " are missing"};
    std::vector<std::uint8_t> buffer(function.parameters.back().offset + function.parameters.back().bytes);
    std::memcpy(buffer.data(), given.data(), std::min(given.size(), buffer.size()));
    std::memcpy(buffer.data() + function.parameters.back().offset, &added, sizeof added);
    std::size_t bytes = buffer.size();
    void* packed[] = {reinterpret_cast<void*>(std::uintptr_t{1}), buffer.data(),
                      reinterpret_cast<void*>(std::uintptr_t{2}), &bytes, nullptr};
    check(
        inner_.cuLaunchKernel(handle, row, 1, 1, block.x, block.y, block.z, shape.sharedBytes, stream, nullptr, packed),
        "");
    if (!isCaptured) endTurn(added);
}

SmSet WalledContext::smsUsed() const {
    SmSet used(static_cast<std::size_t>(allSms_), false);
    if (place_) return place_->sms();
    if (!hasComputeWall()) return used;
    std::vector<std::uint32_t> words(used.size());
    makeCurrent();
    check(inner_.cuMemcpyDtoH(words.data(), queue_ + 4 * PersistentQueue::kUsed, 4 * words.size()),
          "cannot read a queue");
    for (std::size_t sm = 0; sm < used.size(); ++sm) used[sm] = words[sm] != 0;
    return used;
}

unsigned WalledContext::strayBlocks() const {
    std::uint32_t strays = 0;
    if (!hasPersistentBlocks()) return 0;
    makeCurrent();
    check(inner_.cuMemcpyDtoH(&strays, queue_ + 4 * PersistentQueue::kStrays, sizeof strays), "cannot read a queue");
    return strays;
}

}  // namespace bulkhead::walls
