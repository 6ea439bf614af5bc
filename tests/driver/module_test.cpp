#include <fstream>

#include "support.h"
#include "temporary_directory.h"

namespace bulkhead::driver {
namespace {

using Modules = DriverTest;

TEST_F(Modules, whatIsWrongWithPtxIsWrittenIntoTheErrorLog) {
    char log[200] = "untouched";
    CUjit_option options[] = {5, 6};  // CU_JIT_ERROR_LOG_BUFFER and its size
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    CUmodule made = nullptr;
    const char* const bad = ".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry k()\n{\n    fly.up;\n}\n";
    EXPECT_EQ(api.cuModuleLoadDataEx(&made, bad, 2, options, values), CUDA_ERROR_INVALID_PTX);
    EXPECT_NE(std::string(log).find("fly.up"), std::string::npos) << log;
    EXPECT_EQ(reinterpret_cast<std::size_t>(values[1]), std::strlen(log));
}

TEST_F(Modules, aLogIsCutToItsBuffer) {
    char log[8] = {};
    CUjit_option options[] = {6, 5};
    void* values[] = {reinterpret_cast<void*>(sizeof log), log};
    CUmodule made = nullptr;
    EXPECT_EQ(api.cuModuleLoadDataEx(&made, ".version 6.0\nnonsense", 2, options, values), CUDA_ERROR_INVALID_PTX);
    EXPECT_EQ(std::strlen(log), sizeof log - 1);
}

TEST_F(Modules, variablesHaveAddressSizeAndInitialValue) {
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(api.cuModuleGetGlobal(&address, &bytes, module, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 4u);
    EXPECT_EQ(download<unsigned>(address, 1).at(0), 41u);
    ASSERT_EQ(api.cuModuleGetGlobal(nullptr, &bytes, module, "table"), CUDA_SUCCESS);
    EXPECT_EQ(bytes, 12u);
    EXPECT_EQ(api.cuModuleGetGlobal(&address, &bytes, module, "nobody"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(api.cuMemFree(address), CUDA_ERROR_INVALID_VALUE);  // it belongs to the module
}

TEST_F(Modules, missingKernelsFilesAndHandlesHaveCodesOfTheirOwn) {
    CUfunction f = nullptr;
    CUmodule made = nullptr;
    EXPECT_EQ(api.cuModuleGetFunction(&f, module, "nobody"), CUDA_ERROR_NOT_FOUND);
    EXPECT_EQ(api.cuModuleGetFunction(&f, reinterpret_cast<CUmodule>(&f), "twice"), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuModuleLoad(&made, "/nonexistent/kernels.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT_EQ(api.cuModuleLoadData(&made, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, anUnloadedModuleTakesItsFunctionsWithIt) {
    CUfunction twice = function("twice");
    ASSERT_EQ(api.cuModuleUnload(module), CUDA_SUCCESS);
    CUdeviceptr p = allocate(256);
    void* parameters[] = {&p};
    EXPECT_EQ(api.cuLaunchKernel(twice, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_ERROR_INVALID_HANDLE);
    EXPECT_EQ(api.cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Modules, aModuleIsLoadedFromAFile) {
    const TemporaryDirectory directory;
    const auto path = directory.path() / "kernels.ptx";
    std::ofstream(path) << kKernels;
    CUmodule made = nullptr;
    ASSERT_EQ(api.cuModuleLoad(&made, path.c_str()), CUDA_SUCCESS) << simulatorApi().lastError();
    unsigned count = 0;
    EXPECT_EQ(api.cuModuleGetFunctionCount(&count, made), CUDA_SUCCESS);
    EXPECT_EQ(count, 8u);  // the entries of kKernels
}

TEST_F(Modules, theFunctionsOfAModuleAreEnumerated) {
    CUfunction functions[8] = {};
    ASSERT_EQ(api.cuModuleEnumerateFunctions(functions, 8, module), CUDA_SUCCESS);
    bool seen = false;
    for (CUfunction f : functions) {
        const char* name = nullptr;
        ASSERT_EQ(api.cuFuncGetName(&name, f), CUDA_SUCCESS);
        seen = seen || std::string(name) == "rendezvous";
    }
    EXPECT_TRUE(seen);
}

TEST_F(Modules, parametersLieWhereTheKernelWantsThem) {
    // add(u64 p, u8 small, u64 large): offsets 0, 8 and, aligned, 16.
    std::size_t offset = 0, bytes = 0;
    EXPECT_EQ(api.cuFuncGetParamInfo(function("add"), 1, &offset, &bytes), CUDA_SUCCESS);
    EXPECT_EQ(offset, 8u);
    EXPECT_EQ(bytes, 1u);
    EXPECT_EQ(api.cuFuncGetParamInfo(function("add"), 2, &offset, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(offset, 16u);
    EXPECT_EQ(api.cuFuncGetParamInfo(function("add"), 3, &offset, &bytes), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, aKernelOfALibraryRunsInTheContextThatLaunchesIt) {
    CUlibrary library = nullptr;
    ASSERT_EQ(api.cuLibraryLoadData(&library, kKernels, nullptr, nullptr, 0, nullptr, nullptr, 0), CUDA_SUCCESS);
    CUkernel kernel = nullptr;
    ASSERT_EQ(api.cuLibraryGetKernel(&kernel, library, "twice"), CUDA_SUCCESS);
    EXPECT_EQ(api.cuLibraryGetKernel(&kernel, library, "nobody"), CUDA_ERROR_NOT_FOUND);
    CUcontext second = nullptr;
    for (int round = 0; round < 2; ++round) {
        if (round == 1) {
            ASSERT_EQ(api.cuCtxCreate(&second, 0, device), CUDA_SUCCESS);
        }
        CUdeviceptr p = upload<unsigned>({1, 2, 3});
        void* parameters[] = {&p};
        ASSERT_EQ(
            api.cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 3, 1, 1, 0, nullptr, parameters, nullptr),
            CUDA_SUCCESS)
            << simulatorApi().lastError();
        EXPECT_EQ(download<unsigned>(p, 3), (std::vector<unsigned>{2, 4, 6}));
    }
    api.cuCtxDestroy(second);
    CUdeviceptr address = 0;
    EXPECT_EQ(api.cuLibraryGetGlobal(&address, nullptr, library, "counter"), CUDA_SUCCESS);
    EXPECT_EQ(api.cuLibraryUnload(library), CUDA_SUCCESS);
    EXPECT_EQ(api.cuLibraryUnload(library), CUDA_ERROR_INVALID_HANDLE);
}

/// Adds to a variable that is not defined here, and to one that is.
const char* const kOfTheHost = R"(.version 6.0
.target sm_60
.address_size 64
.extern .global .align 4 .u32 hosts[2];
.visible .global .align 4 .u32 own = 7;
.visible .entry add()
{
    .reg .b32 %r<4>;
    ld.global.u32 %r1, [hosts+4]; ld.global.u32 %r2, [own]; add.u32 %r1, %r1, %r2; st.global.u32 [hosts+4], %r1; ret;
}
)";

/// The options that relocate symbols.
struct Relocating {
    std::vector<const char*> names;
    std::vector<void*> addresses;
    CUjit_option options[3] = {17, 18, 19};
    void* values[3] = {};
    void** all() {
        values[0] = names.data();
        values[1] = addresses.data();
        values[2] = reinterpret_cast<void*>(names.size());
        return values;
    }
};

TEST_F(Modules, aVariableIsRelocatedToTheHostsMemory) {
    unsigned words[2] = {1, 100};
    ASSERT_EQ(api.cuMemHostRegister(words, sizeof words, 0), CUDA_SUCCESS);
    CUmodule made = nullptr;
    EXPECT_NE(api.cuModuleLoadData(&made, kOfTheHost), CUDA_SUCCESS);  // nobody has it
    Relocating hosts = {{"hosts", "somebody elses"}, {words, &made}};
    ASSERT_EQ(api.cuModuleLoadDataEx(&made, kOfTheHost, 3, hosts.options, hosts.all()), CUDA_SUCCESS)
        << simulatorApi().lastError();
    CUfunction add = nullptr;
    ASSERT_EQ(api.cuModuleGetFunction(&add, made, "add"), CUDA_SUCCESS);
    for (const unsigned expected : {107u, 114u}) {
        ASSERT_EQ(api.cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
        ASSERT_EQ(api.cuCtxSynchronize(), CUDA_SUCCESS) << simulatorApi().lastError();
        EXPECT_EQ(words[1], expected);
    }
    EXPECT_EQ(words[0], 1u);
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    ASSERT_EQ(api.cuModuleGetGlobal(&address, &bytes, made, "hosts"), CUDA_SUCCESS);
    EXPECT_EQ(address, reinterpret_cast<CUdeviceptr>(words));
    EXPECT_EQ(bytes, sizeof words);
    EXPECT_EQ(api.cuModuleUnload(made), CUDA_SUCCESS);
    EXPECT_EQ(words[1], 114u);

    // The same by way of the linker.
    CUlinkState link = nullptr;
    void* image = nullptr;
    ASSERT_EQ(api.cuLinkCreate(3, hosts.options, hosts.all(), &link), CUDA_SUCCESS);
    ASSERT_EQ(
        api.cuLinkAddData(link, 1, const_cast<char*>(kOfTheHost), std::strlen(kOfTheHost), "", 0, nullptr, nullptr),
        CUDA_SUCCESS);
    ASSERT_EQ(api.cuLinkComplete(link, &image, nullptr), CUDA_SUCCESS) << simulatorApi().lastError();
    EXPECT_EQ(api.cuModuleLoadDataEx(&made, image, 3, hosts.options, hosts.all()), CUDA_SUCCESS);
    EXPECT_EQ(api.cuLinkDestroy(link), CUDA_SUCCESS);
    EXPECT_EQ(api.cuMemHostUnregister(words), CUDA_SUCCESS);
}

TEST_F(Modules, onlyWhatIsNotDefinedIsRelocated) {
    unsigned words[2] = {};
    CUmodule made = nullptr;
    const auto load = [&](Relocating hosts) {
        return api.cuModuleLoadDataEx(&made, kOfTheHost, 3, hosts.options, hosts.all());
    };
    EXPECT_EQ(load({{"own", "hosts"}, {words, words}}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(load({{"hosts", "hosts"}, {words, words + 1}}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(load({{"hosts"}, {nullptr}}), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(load({{nullptr}, {words}}), CUDA_ERROR_INVALID_VALUE);
    CUjit_option count[] = {19};
    void* one[] = {reinterpret_cast<void*>(std::uintptr_t{1})};
    EXPECT_EQ(api.cuModuleLoadDataEx(&made, kOfTheHost, 1, count, one), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Modules, modulesCompiledApartAreLinked) {
    const std::string begin = ".version 7.0\n.target sm_60\n.address_size 64\n";
    std::string first = begin +
                        ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
                        ".visible .entry k(.param .u64 p) {\n.reg .b64 %p, %a;\n.reg .b32 %v;\n"
                        "ld.param.u64 %p, [p];\ncvta.to.global.u64 %a, %p;\nld.global.u32 %v, [%a];\n"
                        "{ .param .b32 x; .param .b32 y; st.param.b32 [x], %v; call (y), twice, (x); ld.param.b32 %v, "
                        "[y]; }\nst.global.u32 [%a], %v;\nret;\n}\n";
    std::string second = begin +
                         ".visible .func (.param .b32 r) twice(.param .b32 a) {\n.reg .b32 %v;\n"
                         "ld.param.b32 %v, [a];\nadd.u32 %v, %v, %v;\nst.param.b32 [r], %v;\nret;\n}\n";
    CUlinkState link = nullptr;
    char log[200] = "";
    CUjit_option options[] = {5, 6};  // where errors go, and its bytes
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    ASSERT_EQ(api.cuLinkCreate(2, options, values, &link), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLinkAddData(link, 1, first.data(), first.size() + 1, "a", 0, nullptr, nullptr), CUDA_SUCCESS);
    void* image = nullptr;
    EXPECT_EQ(api.cuLinkComplete(link, &image, nullptr), CUDA_ERROR_INVALID_SOURCE);
    EXPECT_NE(std::string(log).find("'twice'"), std::string::npos) << log;
    EXPECT_EQ(api.cuLinkDestroy(link), CUDA_SUCCESS);

    ASSERT_EQ(api.cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLinkAddData(link, 1, first.data(), first.size() + 1, "a", 0, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLinkAddData(link, 1, second.data(), second.size() + 1, "b", 0, nullptr, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(api.cuLinkComplete(link, &image, nullptr), CUDA_SUCCESS);
    CUmodule made = nullptr;
    ASSERT_EQ(api.cuModuleLoadData(&made, image), CUDA_SUCCESS);
    EXPECT_EQ(api.cuLinkAddData(link, 1, second.data(), second.size() + 1, "again", 0, nullptr, nullptr),
              CUDA_ERROR_INVALID_SOURCE);
    EXPECT_EQ(api.cuLinkAddFile(link, 1, "/nonexistent", 0, nullptr, nullptr), CUDA_ERROR_FILE_NOT_FOUND);
    EXPECT_EQ(api.cuLinkDestroy(link), CUDA_SUCCESS);
    CUfunction kernel = nullptr;
    ASSERT_EQ(api.cuModuleGetFunction(&kernel, made, "k"), CUDA_SUCCESS);
    CUdeviceptr p = upload<unsigned>({21});
    void* parameters[] = {&p};
    ASSERT_EQ(api.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr), CUDA_SUCCESS);
    EXPECT_EQ(download<unsigned>(p, 1), (std::vector<unsigned>{42}));
}

TEST_F(Modules, linkedPtxIsAnImage) {
    CUlinkState link = nullptr;
    ASSERT_EQ(api.cuLinkCreate(0, nullptr, nullptr, &link), CUDA_SUCCESS);
    std::string text = kKernels;
    ASSERT_EQ(api.cuLinkAddData(link, 1, text.data(), text.size() + 1, "k.ptx", 0, nullptr, nullptr), CUDA_SUCCESS);
    void* image = nullptr;
    std::size_t bytes = 0;
    ASSERT_EQ(api.cuLinkComplete(link, &image, &bytes), CUDA_SUCCESS);
    CUmodule made = nullptr;
    EXPECT_EQ(api.cuModuleLoadData(&made, image), CUDA_SUCCESS);
    EXPECT_EQ(api.cuLinkDestroy(link), CUDA_SUCCESS);
}

}  // namespace
}  // namespace bulkhead::driver
