#include "ptx/call_graph.h"

#include <set>

#include "support.h"

namespace bulkhead::ptx {
namespace {

using Names = std::set<std::string>;

Names reachable(const Module& module, const std::string& from) {
    Names names;
    for (const Function* function : CallGraph(module).reachable(*module.find(from))) names.insert(function->name);
    return names;
}

TEST(CallGraph, FollowsCallsThroughFunctionsAndBack) {
    const Module module = parseModule(
        ".extern .func vprintf();\n.func c();\n.func a() { ret; }\n.func b() { call a; call c; ret; }\n"
        ".func c() { call b; call vprintf; ret; }\n.func other() { ret; }\n.entry k() { call b; ret; }\n");
    EXPECT_EQ(reachable(module, "k"), (Names{"k", "a", "b", "c"}));
    EXPECT_EQ(reachable(module, "c"), (Names{"a", "b", "c"}));
    EXPECT_EQ(reachable(module, "a"), (Names{"a"}));
}

TEST(CallGraph, APointerLeadsToWhateverHasItsAddressTaken) {
    const Module module = parseModule(
        ".func a() { ret; }\n.func b() { ret; }\n.func c() { ret; }\n.global .u64 table[1] = {b};\n"
        ".entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, a; call %rd1, (), p; p: .callprototype _ (); ret; }\n"
        ".entry other() { call c; ret; }\n");
    EXPECT_EQ(reachable(module, "k"), (Names{"k", "a", "b"}));
}

TEST(CallGraph, ATableSaysWhereAPointerMayLead) {
    const Module module = parseModule(
        ".func a() { ret; }\n.func b() { ret; }\n"
        ".entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, a; mov.u64 %rd1, b; t: .calltargets b; call %rd1, (), t; ret; "
        "}\n");
    EXPECT_EQ(reachable(module, "k"), (Names{"k", "b"}));
}

}  // namespace
}  // namespace bulkhead::ptx
