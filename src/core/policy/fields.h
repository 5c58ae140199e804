// SPDX-License-Identifier: Apache-2.0
// Fields of a policy while they are read: what is wrong becomes a finding with the field's path, and reading
// goes on.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nccl_env/core/findings/finding.h"
#include "nccl_env/core/policy/policy.h"
#include "text/json_fields.h"

namespace nccl_env {

// "a string", "the number 22", "a list", …
std::string describe(json::Element value);
// 22 -> "22": refuses what is not a string, and says how it reads as one.
std::string wrong_type(json::Element value);

// Refusals become findings, in a policy's words. A null is a value: people forget what stands behind a colon.
class PolicyRefusals : public json::Refusals {
 public:
  explicit PolicyRefusals(Findings& findings) : findings_(&findings) {}
  void add(const json::Path& at, std::string_view message) override;
  void mismatch(const json::Path& at, std::string_view wanted, json::Element found) override;
  void bad_integer(const json::Path& at, int least, int most, json::Element found) override;
  void bad_list(const json::Path& at, std::size_t most, json::Element found) override;
  [[nodiscard]] bool refuses_null() const override { return true; }
  [[nodiscard]] bool is_full() const override { return findings_->is_full(); }

 private:
  Findings* findings_;
};

// Fields of one object.
struct PolicyInput {
  const json::Fields fields;
  const PolicyOptions& options;
  Findings& findings;

  [[nodiscard]] bool has(std::string_view name) const { return fields.find(name).has_value(); }
  void error(std::string_view name, std::string_view sentence) const { fields.refuse(name, sentence); }
  void warning(std::string_view name, std::string sentence) const {
    findings.warning(fields.path(name).text(), std::move(sentence));
  }
  void expected(std::string_view name, std::string_view wanted) const;
};

// Why a text is not a glob over names; nothing if it is one.
std::optional<std::string> name_glob_problem(std::string_view glob);
// The glob that is meant by single digits in no brackets of a glob: "mlx5_[0-7]" by "mlx5_0-7", "mlx5_[0-7"
// and "mlx5_{0..7}", "mlx5_[01]" by "mlx5_{0,1}"; "" for any other text.
std::string meant_glob(std::string_view glob);

}  // namespace nccl_env
