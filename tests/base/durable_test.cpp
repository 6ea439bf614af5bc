// What is asked of the system when a file is written, heard by standing in its place.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/files.h"
#include "temporary_directory.h"

namespace {

std::vector<std::string> asked;

}  // namespace

extern "C" int fsync(int file) {
    struct stat about {};
    ::fstat(file, &about);
    asked.emplace_back(S_ISDIR(about.st_mode) ? "folder on disk" : "file on disk");
    return static_cast<int>(::syscall(SYS_fsync, file));
}

extern "C" int rename(const char* from, const char* to) {
    asked.emplace_back("name");
    return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

namespace bulkhead {
namespace {

TEST(DurableFiles, ContentIsOnTheDiskBeforeTheNameAndTheNameBeforeTheEnd) {
    const TemporaryDirectory folder;
    asked.clear();
    writeFile(folder / "x", "content");
    EXPECT_EQ(asked, (std::vector<std::string>{"file on disk", "name", "folder on disk"}));
    EXPECT_EQ(readFile(folder / "x"), "content");
}

}  // namespace
}  // namespace bulkhead
