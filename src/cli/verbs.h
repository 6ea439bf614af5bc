#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "cli/command_line.h"

namespace bulkhead::cli {

/// What every verb returns. Bad usage and bad input leave as Error and become 2.
enum ExitCode : int { kDone = 0, kCheckFailed = 1, kBadInput = 2, kInterrupted = 130 /* as shells say it of Ctrl-C */ };

using Action = std::function<int()>;

/// One word of the command line. `setup` declares the verb's options and returns what to do once they are parsed.
struct Verb {
    const char* name;
    const char* brief;
    Action (*setup)(CommandLine);
};

/// All verbs, in the order in which help lists them.
const std::vector<Verb>& verbs();

/// What was typed, and the version: for the provenance of results.
std::string commandLine();
std::string version();

/// What the parser has against these words behind "bulkhead", in one line; empty: nothing.
std::string refusalOf(const std::vector<std::string>& words);

/// For a count that nothing could be made of if it were smaller or larger.
Check between(std::uint64_t least, std::uint64_t most);
/// For one that must not be 0.
Check positive();

/// Throws Error if one of these options was given: it would not be heeded, which `where` says, such as "man VERB".
void refuseGiven(const CommandLine&, std::initializer_list<const char*> options, const std::string& where);

/// Throws Error if one of these files could not be written at the end; names that are empty or "-" are none. Standard
/// output, "-", takes one of them: whoever reads it gets that and nothing else.
void expectOutputs(std::initializer_list<std::string> files);
/// Throws Error if files could not be written into this folder, which need not be there yet; an empty name is none.
void expectFolder(const std::string&);
/// With those above it.
void makeFolder(const std::string&);
/// Writes to a file, or to standard output where the name is "-".
void writeOutput(const std::string& file, const std::string& bytes);
void writeJson(const std::string& file, const nlohmann::ordered_json&);

/// The folder with libcuda.so.1, libcudart.so.13 and libcudart_static.a: beside this program, or where it was
/// installed. Throws Error if they are not there.
std::string libraryFolder();

/// Throws Error if a CUDA program cannot be run with our driver.
void expectProgram(const std::string& name);

/// Starts a CUDA program in the place of this one, with our driver before any other. Throws Error if that cannot be.
[[noreturn]] void becomeProgram(std::vector<std::string> words);
/// The same with another driver library in front, that of a folder, and no runtime of ours: whatever the program brings
/// along is to work.
[[noreturn]] void becomeProgramAsItIs(std::vector<std::string> words, const std::string& folder);

// One file each.
Action setUpCalibrate(CommandLine);
Action setUpCc(CommandLine);
Action setUpCompare(CommandLine);
Action setUpCompletion(CommandLine);
Action setUpCorrelate(CommandLine);
Action setUpDemo(CommandLine);
Action setUpExec(CommandLine);
Action setUpDissect(CommandLine);
Action setUpGpus(CommandLine);
Action setUpMan(CommandLine);
Action setUpReport(CommandLine);
Action setUpIsolate(CommandLine);
Action setUpReproduce(CommandLine);
Action setUpRun(CommandLine);
Action setUpServe(CommandLine);
Action setUpStress(CommandLine);
Action setUpWorkloads(CommandLine);

}  // namespace bulkhead::cli
