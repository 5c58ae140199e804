// SPDX-License-Identifier: Apache-2.0
// The values of a container, and why it lacks others, in each form.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/core/decide/value.h"

namespace nccl_env {

// The value, or in brackets when it will be known: "(known once the node is)".
std::string value_text(const Value& value);

// [{"name", "value", "source", "why"}, …]; a value that is not known is null.
nlohmann::ordered_json to_json(const std::vector<Value>& values);
// [{"name", "reason", "detail", "remedy"}, …], of values that are left out.
nlohmann::ordered_json omitted_json(const std::vector<Value>& omitted);

// For people: the container's env, with a remedy once for each reason.
std::string env_table(std::string_view container, const std::vector<Value>& env,
                      const std::vector<Value>& omitted);
// Where the file stands, by ContainerPlan::names_conf.
std::string_view conf_path(bool named);
// Its nccl.conf, at that path. `words`: a remark on the file as a whole; "" for none.
std::string file_table(std::string_view container, bool named, std::string_view words,
                       const std::vector<Value>& lines, const std::vector<Value>& env);
// The files of other engines, one after the other.
std::string engine_tables(std::string_view container, const std::vector<Value>& lines,
                          const std::vector<Value>& env);

// " (NoTable)"; "" for none.
std::string in_brackets(const std::optional<Reason>& reason);

// NAME=VALUE, or a comment for a value that is not known. `foreign`: why Foreign values are not the pod's
// own.
std::string env_line(const Value& value, std::string_view foreign = {});

}  // namespace nccl_env
