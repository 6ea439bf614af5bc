#include "gpgpusim/configuration.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "gpgpusim/cache_setting.h"
#include "gpgpusim/dram_timing.h"

namespace bulkhead::gpgpusim {
namespace {

Configuration of(const std::string& text) {
    Configuration c;
    c.read(text, "a.config");
    return c;
}

Setting setting(const std::string& value) {
    return {"-option", {value}, "a.config", 7};
}

std::string whatIsWrong(const auto& action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    return "nothing";
}

TEST(Configuration, OptionsHaveTheWordsUpToTheNextOption) {
    Configuration c = of("# a comment\n-one 1 # another\n  -two\ta b\n\n-three -5\n-four\n");
    EXPECT_EQ(c.find({"-one"})->value(), "1");
    EXPECT_EQ(c.find({"-one"})->line, 2);
    EXPECT_EQ(c.find({"-two"})->words, (std::vector<std::string>{"a", "b"}));
    EXPECT_EQ(c.find({"-three"})->value(), "-5");
    EXPECT_TRUE(c.find({"-four"})->words.empty());
    EXPECT_EQ(c.find({"-four"})->where(), "a.config:6");
    EXPECT_EQ(c.find({"-five"}), nullptr);
}

TEST(Configuration, AQuotedWordGoesOverLines) {
    Configuration c = of("-t \"nbk=16:CCD=2:\n      RCD=12\"\n-n 1\n");
    EXPECT_EQ(c.find({"-t"})->value(), "nbk=16:CCD=2:RCD=12");
    EXPECT_EQ(c.find({"-n"})->line, 3);
}

TEST(Configuration, TheLastOfTwoCounts) {
    EXPECT_EQ(of("-n 1\n-n 2\n").find({"-n"})->value(), "2");
}

TEST(Configuration, KnowsWhatNobodyAskedFor) {
    Configuration c = of("-a 1 -b 2 -c 3");
    c.find({"-b", "-c"});
    EXPECT_EQ(c.unused(), std::vector<std::string>{"-a"});
}

TEST(Configuration, SaysWhereAFileIsNone) {
    EXPECT_EQ(whatIsWrong([] { of("{\"schema\": 1}"); }).substr(0, 11), "a.config:1:");
    EXPECT_EQ(whatIsWrong([] { of("# nothing\n"); }), "a.config:1: holds no option, as -gpgpu_n_mem 6 is one");
    EXPECT_EQ(whatIsWrong([] { of("-a 1\n-b \"2\n"); }), "a.config:2: a quotation mark is not closed");
    EXPECT_EQ(whatIsWrong([] { of(std::string("-a 1\n\0\0", 7)); }).substr(0, 24), "a.config:2: is no text: ");
    EXPECT_EQ(whatIsWrong([] { of("-a 1\n-b \xc3\xa4\n"); }).substr(0, 11), "a.config:2:");
}

TEST(Configuration, NumbersAreDecimalOctalOrHexadecimal) {
    EXPECT_EQ(integer(setting("12"), 0, 100), 12);
    EXPECT_EQ(integer(setting("012"), 0, 100), 10);
    EXPECT_EQ(integer(setting("0x12"), 0, 100), 18);
    EXPECT_EQ(integer(setting("0"), 0, 100), 0);
    const std::string beginning = "a.config:7: -option ";
    EXPECT_EQ(whatIsWrong([] { integer(setting("12x"), 0, 100); }), beginning + "12x: 12x is no integer");
    EXPECT_EQ(whatIsWrong([] { integer(setting("101"), 0, 100); }), beginning + "101: 101 must be from 0 to 100");
    EXPECT_EQ(whatIsWrong([] { integer(setting("99999999999999999999"), 0, 100); }),
              beginning + "99999999999999999999: 99999999999999999999 must be from 0 to 100");
    EXPECT_NE(whatIsWrong([] { integer({"-option", {}, "a.config", 7}, 0, 100); }), "nothing");
}

TEST(CacheSetting, ReadsVersion3) {
    const CacheSetting c = cacheSetting(setting("32:128:4,L:L:m:N:H,A:32:8,8"));
    EXPECT_EQ(c.bytes(), 16 * 1024);
    EXPECT_EQ(c.sectorBytes(), 128);
    EXPECT_EQ(c.index, 'H');
    EXPECT_EQ(c.mshrs, 32);
    EXPECT_EQ(c.merges, 8);
    EXPECT_EQ(c.missQueue, 8);
}

TEST(CacheSetting, ReadsVersion4WithSectors) {
    const CacheSetting c = cacheSetting(setting("S:64:128:16,F:B:m:L:P,A:192:4,32:0,32"));
    EXPECT_EQ(c.bytes(), 128 * 1024);
    EXPECT_EQ(c.sectorBytes(), 32);
    EXPECT_EQ(c.replacement, 'F');
    EXPECT_EQ(c.write, 'B');
    EXPECT_EQ(c.missQueue, 32);
}

TEST(CacheSetting, NoneIsNone) {
    EXPECT_FALSE(cacheSetting(setting("none")).exists);
}

TEST(CacheSetting, RefusesWhatIsNoCache) {
    for (const char* bad :
         {"", "16384", "32:128,L:L:m:N:H,A:32:8,8", "33:128:4,L:L:m:N:H,A:32:8,8", "32:128:4,Q:L:m:N:H,A:32:8,8",
          "X:32:128:4,L:L:m:N:H,A:32:8,8", "32:128:4,L:L:m,A:32:8,8", "32:128:4,L:L:m:N:H,A:32,8",
          "32:128:4,L:L:m:N:H,A:0:8,8", "32:128:99999999999999999999,L:L:m:N:H,A:32:8,8", "32:128:4,L:L:m:N:H,A:32:8"})
        EXPECT_THROW(cacheSetting(setting(bad)), Error) << bad;
}

TEST(DramTiming, BothFormsSayTheSame) {
    const DramTiming named = dramTiming(
        setting("WR=12:nbk=16:CCD=2:RRD=6:RCD=13:RAS=28:RP=11:RC=40:CL=10:WL=4:CDLR=5:nbkgrp=4:CCDL=3:RTPL=2"));
    const DramTiming plain = dramTiming(setting("16:2:6:13:28:11:40:10:4:5:12"));
    for (const DramTiming& t : {named, plain}) {
        EXPECT_EQ(t.banks, 16);
        EXPECT_EQ(t.tCCD, 2);
        EXPECT_EQ(t.tRCD, 13);
        EXPECT_EQ(t.tRAS, 28);
        EXPECT_EQ(t.tRP, 11);
        EXPECT_EQ(t.tCL, 10);
        EXPECT_EQ(t.tWR, 12);
    }
}

TEST(DramTiming, RefusesWhatIsNone) {
    for (const char* bad : {"16:2:6", "nbk=16:CCD=2", "nbk=16:XYZ=3", "16:2:6:12:28:12:40:12:4:5:-1", "nbk"})
        EXPECT_THROW(dramTiming(setting(bad)), Error) << bad;
}

}  // namespace
}  // namespace bulkhead::gpgpusim
