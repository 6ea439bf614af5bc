#include "base/schema.h"

namespace bulkhead {

std::string Schema::text() const {
    return fmt::format("{}/{}", name, version);
}

nlohmann::ordered_json Schema::begin() const {
    return {{"schema", text()}};
}

void Schema::expectIn(JsonObject& file) const {
    const nlohmann::json* found = file.find("schema");
    if (found && *found == text()) return;
    if (found)
        throw Error("{}: its schema is {}, but this version of bulkhead reads {} here", file.where(),
                    jsonQuoted(*found), text());
    if (!writtenBy.empty())
        throw Error("{}: has no schema: it is not a {}, or of an older version: {} makes one", file.where(), text(),
                    writtenBy);
}

}  // namespace bulkhead
