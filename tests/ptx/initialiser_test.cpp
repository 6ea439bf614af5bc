#include <bit>

#include "support.h"

namespace bulkhead::ptx {
namespace {

using Bytes = std::vector<std::uint8_t>;

Variable lastVariable(const std::string& text) {
    return parseModule(text).variables.back();
}

TEST(Initialiser, AbsentMeansZero) {
    Variable v = lastVariable(".visible .global .align 16 .f32 x[4];");
    EXPECT_TRUE(v.initial.empty());
    EXPECT_EQ(v.bytes, 16u);
    EXPECT_EQ(v.align, 16u);
    EXPECT_TRUE(v.isVisible);
    EXPECT_TRUE(v.isArray);
    EXPECT_EQ(v.space, Space::global);
}

TEST(Initialiser, AlignsNaturallyByDefault) {
    EXPECT_EQ(lastVariable(".global .u16 x;").align, 2u);
    EXPECT_EQ(lastVariable(".global .v4 .f32 x;").align, 16u);
    EXPECT_EQ(lastVariable(".global .b8 x[64];").align, 1u);
}

TEST(Initialiser, WritesIntegersLittleEndian) {
    EXPECT_EQ(lastVariable(".global .u32 x = 0x01020304;").initial, (Bytes{4, 3, 2, 1}));
    EXPECT_EQ(lastVariable(".global .s16 x = -2;").initial, (Bytes{0xfe, 0xff}));
    EXPECT_EQ(lastVariable(".global .u64 x = -5;").initial, (Bytes{0xfb, 255, 255, 255, 255, 255, 255, 255}));
    EXPECT_EQ(lastVariable(".const .b8 x[3] = {1, 250, 0xFF};").initial, (Bytes{1, 250, 255}));
}

TEST(Initialiser, WritesReals) {
    auto bits = [](const Variable& v) {
        std::uint64_t value = 0;
        for (std::size_t i = v.initial.size(); i-- > 0;) value = value << 8 | v.initial[i];
        return value;
    };
    EXPECT_EQ(bits(lastVariable(".global .f32 x = 0f3F800000;")), 0x3f800000u);
    EXPECT_EQ(bits(lastVariable(".global .f32 x = 0.1;")), std::bit_cast<std::uint32_t>(0.1f));
    EXPECT_EQ(bits(lastVariable(".global .f32 x = 3;")), std::bit_cast<std::uint32_t>(3.0f));
    EXPECT_EQ(bits(lastVariable(".global .f64 x = -0.1;")), std::bit_cast<std::uint64_t>(-0.1));
    EXPECT_EQ(bits(lastVariable(".global .f64 x = 0f3F800000;")), std::bit_cast<std::uint64_t>(1.0));
    EXPECT_EQ(bits(lastVariable(".global .f64 x = 0d7FF0000000000001;")), 0x7ff0000000000001u);
    EXPECT_EQ(bits(lastVariable(".global .b32 x = 0f3F800000;")), 0x3f800000u);
}

TEST(Initialiser, FillsUpWithZeros) {
    EXPECT_EQ(lastVariable(".global .u16 x[4] = {1, 2};").initial, (Bytes{1, 0, 2, 0, 0, 0, 0, 0}));
    EXPECT_EQ(lastVariable(".global .u8 x[2][3] = {{1}, {2, 3}};").initial, (Bytes{1, 0, 0, 2, 3, 0}));
    EXPECT_EQ(lastVariable(".global .u8 x[2][3] = {{1}};").initial, (Bytes{1, 0, 0, 0, 0, 0}));
    EXPECT_EQ(lastVariable(".global .u8 x[2][3] = {1, 2, 3, 4};").initial, (Bytes{1, 2, 3, 4, 0, 0}));
    EXPECT_EQ(lastVariable(".global .u8 x[2] = {};").initial, (Bytes{0, 0}));
}

TEST(Initialiser, CountsTheElementsOfAnOpenArray) {
    Variable v = lastVariable(".global .u16 x[] = {1, 2, 3};");
    EXPECT_EQ(v.bytes, 6u);
    EXPECT_EQ(v.initial, (Bytes{1, 0, 2, 0, 3, 0}));
    EXPECT_EQ(lastVariable(".global .u8 x[][2] = {{1, 2}, {3}};").initial, (Bytes{1, 2, 3, 0}));
}

TEST(Initialiser, AVectorIsABracedRow) {
    EXPECT_EQ(lastVariable(".global .v2 .u8 x[2] = {{1, 2}, {3, 4}};").initial, (Bytes{1, 2, 3, 4}));
    EXPECT_EQ(lastVariable(".global .v4 .u8 x = {1, 2, 3, 4};").initial, (Bytes{1, 2, 3, 4}));
}

TEST(Initialiser, AStringIsBytes) {
    EXPECT_EQ(lastVariable(".global .b8 x[6] = \"a\\n\\\"\\x41\";").initial, (Bytes{'a', '\n', '"', 'A', 0, 0}));
    EXPECT_EQ(lastVariable(".global .b8 x[] = \"ab\";").initial, (Bytes{'a', 'b', 0}));
}

TEST(Initialiser, FoldsExpressions) {
    EXPECT_EQ(lastVariable(".global .u8 x[1 + 2] = {1 << 3, (2 + 3) * 4, WARP_SZ};").initial, (Bytes{8, 20, 32}));
}

TEST(Initialiser, SymbolsBecomeRelocations) {
    Variable v = lastVariable(
        ".global .u32 a[4]; .func f(.param .b32 _);\n"
        ".global .u64 x[5] = {a, a+4, generic(a), generic(a)+8, f};");
    ASSERT_EQ(v.relocations.size(), 5u);
    EXPECT_EQ(v.initial, Bytes(40, 0));
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(v.relocations[i].offset, 8 * i);
        EXPECT_EQ(v.relocations[i].bytes, 8u);
        EXPECT_EQ(v.relocations[i].symbol, i == 4 ? "f" : "a");
        EXPECT_EQ(v.relocations[i].generic, i == 2 || i == 3);
    }
    EXPECT_EQ(v.relocations[1].addend, 4);
    EXPECT_EQ(v.relocations[3].addend, 8);
}

TEST(Initialiser, ASymbolMayBeDeclaredFurtherOn) {
    Module module = parseModule(".global .u64 x = later;\n.global .u32 later;");
    EXPECT_EQ(module.variables[0].relocations.at(0).symbol, "later");
}

TEST(Initialiser, MasksOfConsecutiveBytesAreOneAddress) {
    Variable v = lastVariable(
        ".global .u32 a;\n.global .u8 x[12] = {7, 0XFF(a), 0xFF00(a), 0xFF0000(a), 0xFF000000(a), 0xFF00000000(a), "
        "0xFF0000000000(a), 0xFF000000000000(a), 0xFF00000000000000(a), 9};");
    ASSERT_EQ(v.relocations.size(), 1u);
    EXPECT_EQ(v.relocations[0].offset, 1u);
    EXPECT_EQ(v.relocations[0].bytes, 8u);
    EXPECT_EQ(v.relocations[0].shift, 0u);
    EXPECT_EQ(v.initial[0], 7);
    EXPECT_EQ(v.initial[9], 9);
}

TEST(Initialiser, ALoneMaskKeepsItsShift) {
    Variable v = lastVariable(".global .u32 a;\n.global .u8 x[2] = {0xFF00(generic(a)+4), 0xFF(a)};");
    ASSERT_EQ(v.relocations.size(), 2u);
    EXPECT_EQ(v.relocations[0].shift, 8u);
    EXPECT_EQ(v.relocations[0].bytes, 1u);
    EXPECT_EQ(v.relocations[0].addend, 4);
    EXPECT_TRUE(v.relocations[0].generic);
    EXPECT_EQ(v.relocations[1].shift, 0u);
    EXPECT_EQ(v.relocations[1].bytes, 1u);
}

TEST(Variables, ExternIsReplacedByItsDefinition) {
    Module module = parseModule(".extern .global .u32 x[]; .global .u32 x[3] = {1}; .extern .global .u32 x[];");
    ASSERT_EQ(module.variables.size(), 1u);
    EXPECT_FALSE(module.variables[0].isExtern);
    EXPECT_EQ(module.variables[0].bytes, 12u);
}

TEST(Variables, ExternSharedOfOpenSizeHasNoBytes) {
    Variable v = lastVariable(".extern .shared .align 16 .b8 buffer[];");
    EXPECT_EQ(v.bytes, 0u);
    EXPECT_EQ(v.align, 16u);
    EXPECT_TRUE(v.isExtern);
    EXPECT_EQ(v.space, Space::shared);
}

TEST(Variables, AttributesAreIgnored) {
    Variable v = lastVariable(".visible .global .attribute(.managed, .unified(19, 95)) .align 4 .u32 x = 7;");
    EXPECT_EQ(v.initial, (Bytes{7, 0, 0, 0}));
}

TEST(Variables, SeveralInOneStatement) {
    Module module = parseModule(".global .u32 a, b[2], c = 3;");
    ASSERT_EQ(module.variables.size(), 3u);
    EXPECT_EQ(module.variables[1].bytes, 8u);
    EXPECT_EQ(module.variables[2].initial, (Bytes{3, 0, 0, 0}));
}

}  // namespace
}  // namespace bulkhead::ptx
