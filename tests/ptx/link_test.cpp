// Modules that were compiled apart.

#include "ptx/link.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace bulkhead::ptx {
namespace {

Module parsed(const std::string& body) {
    return parse(".version 8.0\n.target sm_75\n.address_size 64\n" + body, "<test>");
}

Module linkedOf(const std::string& first, const std::string& second) {
    std::vector<Module> modules;
    modules.push_back(parsed(first));
    modules.push_back(parsed(second));
    return link(std::move(modules));
}

const std::string kCaller =
    ".extern .func (.param .b32 r) f(.param .b32 a);\n"
    ".visible .func unused() { .param .b32 x; .param .b32 y; call (y), f, (x); ret; }\n"
    ".extern .global .b32 shared_by_both;\n"
    ".global .b32 own = 1;\n"
    ".global .b64 to_own = generic(own);\n"
    ".visible .entry k() { .reg .b32 %r<3>; ld.global.u32 %r1, [own]; ld.global.u32 %r2, [shared_by_both]; "
    "{ .param .b32 x; .param .b32 y; call (y), f, (x); } ret; }\n";

TEST(Link, ADeclarationIsTheOthersDefinition) {
    const Module m = linkedOf(kCaller,
                              ".visible .global .b32 shared_by_both = 9;\n"
                              ".visible .func (.param .b32 r) f(.param .b32 a) { st.param.b32 [r], 1; ret; }\n");
    ASSERT_NE(m.find("f"), nullptr);
    EXPECT_FALSE(m.find("f")->isExtern);
    EXPECT_EQ(m.find("f")->body.size(), 2u);
    EXPECT_EQ(m.find("unused"), nullptr);
    int defined = 0;
    for (const Variable& v : m.variables)
        if (v.name == "shared_by_both") {
            EXPECT_FALSE(v.isExtern);
            EXPECT_EQ(v.initial.at(0), 9);
            ++defined;
        }
    EXPECT_EQ(defined, 1);
}

TEST(Link, NamesThatAreNotVisibleStayApart) {
    const Module m = linkedOf(kCaller,
                              ".global .b32 own = 2;\n.visible .entry j() { .reg .b32 %r<2>; "
                              "ld.global.u32 %r1, [own]; { .local .b32 own; ld.local.u32 %r1, [own]; } ret; }\n");
    std::string first, second, pointedTo;
    for (const Variable& v : m.variables) {
        if (!v.initial.empty() && v.initial[0] == 1) first = v.name;
        if (!v.initial.empty() && v.initial[0] == 2) second = v.name;
        if (v.name == "to_own") pointedTo = v.relocations.at(0).symbol;
    }
    EXPECT_NE(first, second);
    EXPECT_EQ(pointedTo, first);
    EXPECT_EQ(m.find("k")->body[0].operands[1].name, first);
    EXPECT_EQ(m.find("j")->body[0].operands[1].name, second);
    EXPECT_EQ(m.find("j")->body[1].operands[1].name, m.find("j")->variables.at(0).name);
}

TEST(Link, NamesThatAreMadeMeetNoOther) {
    // nvcc calls its strings $str, $str$1 and so on, in every module.
    const std::string strings = ".global .b8 $str[4] = {1};\n.global .b8 $str$1[4] = {2};\n";
    const Module m = linkedOf(strings, strings);
    std::set<std::string> names;
    for (const Variable& v : m.variables) names.insert(v.name);
    EXPECT_EQ(m.variables.size(), 4u);
    EXPECT_EQ(names.size(), 4u);
}

TEST(Link, WeakDefinitionsGiveWay) {
    const auto valueOf = [](const std::string& first, const std::string& second) {
        return linkedOf(first, second).variables.at(0).initial.at(0);
    };
    EXPECT_EQ(valueOf(".weak .global .b32 v = 1;", ".visible .global .b32 v = 2;"), 2);
    EXPECT_EQ(valueOf(".visible .global .b32 v = 1;", ".weak .global .b32 v = 2;"), 1);
    EXPECT_EQ(valueOf(".weak .global .b32 v = 1;", ".weak .global .b32 v = 2;"), 1);
}

TEST(Link, TwoDefinitionsOfOneNameAreRefused) {
    EXPECT_THROW(linkedOf(".visible .global .b32 v = 1;", ".visible .global .b32 v = 2;"), Error);
    EXPECT_THROW(linkedOf(".visible .global .b32 v = 1;", ".visible .func v() { ret; }"), Error);
}

TEST(Link, DynamicSharedMemoryIsOne) {
    const Module m = linkedOf(".extern .shared .align 4 .b8 s[];",
                              ".extern .shared .align 16 .b8 s[];\n.visible .entry k() { ret; }");
    ASSERT_EQ(m.variables.size(), 1u);
    EXPECT_EQ(m.variables[0].align, 16u);
}

}  // namespace
}  // namespace bulkhead::ptx
