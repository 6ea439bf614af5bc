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
