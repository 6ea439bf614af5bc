#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bulkhead::serve {

/// A line of a form, and the option that it becomes.
struct Field {
    const char* name;
    const char* option;  ///< empty: that of the program's own way, below
    const char* label;
    const char* value;  ///< what stands there at first
    const char* hint;
};

/// Which runs a verb keeps with --store.
enum class Keeps { none, repeatable, all };

/// How a question is asked of a program, where the form names one.
struct OfProgram {
    std::vector<std::string> words;   ///< the verb, and options that do not change
    std::vector<std::string> fields;  ///< those of the form that it takes as well
    const char* option;               ///< takes the program; empty: its words come behind all options
    const char* output;
};

/// What can be asked on the page: a verb, and the options of it that the form has.
struct Question {
    const char* name;
    const char* title;
    const char* what;
    std::vector<std::string> verb;
    std::vector<Field> fields;
    const char* output;  ///< the option that takes the file for its results
    Keeps keeps;
    std::optional<OfProgram> ofProgram = {};  ///< where there is a field "program"
};

const std::vector<Question>& questions();
/// Throws Error.
const Question& findQuestion(std::string_view name);

/// A form as it was filled in.
struct Form {
    std::string question;
    std::map<std::string, std::string> values;  ///< by field

    /// {"question": "cause", "values": {"gpu": "sim:tx2"}}. Throws Error if there is no such question or field, or if a
    /// value is none that a command line could take.
    static Form fromJson(const nlohmann::json&);
    nlohmann::ordered_json toJson() const;
    /// Of a field: as filled in, or as it stands there at first.
    std::string valueOf(std::string_view field) const;
};

/// Where a command leaves what it finds.
struct Outputs {
    std::string file;   ///< of results
    std::string store;  ///< of runs; empty: there is none
    bool repeatable;    ///< the GPU finds the same each time
};

/// Whether the command takes finished runs from a store, so that one that was stopped goes on where it was.
bool keepsRuns(const Form&, bool repeatable);

/// The words behind "bulkhead". Empty fields leave the option out.
std::vector<std::string> wordsOf(const Form&, const Outputs&);

/// As a shell would take them again.
std::string commandText(const std::vector<std::string>& words);

/// For the page.
nlohmann::ordered_json questionsJson();

}  // namespace bulkhead::serve
