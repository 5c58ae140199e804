// SPDX-License-Identifier: Apache-2.0
#include "diagnosis.h"

namespace nccl_env::app {

SourceFailure read_diagnosis(const DoctorArguments& arguments, std::istream& in, Diagnosis& into) {
  DoctorInput from;
  return read_diagnosis(arguments, in, into, from);
}

SourceFailure read_diagnosis(const DoctorArguments& arguments, std::istream& in, Diagnosis& into,
                             DoctorInput& from) {
  const auto now = read_moment(arguments.at);
  if (!now) return {kUsage, now.error().message};
  const auto age = read_age(arguments.max_table_age);
  if (!age) return {kUsage, age.error().message};
  Fabric fabric;
  if (SourceFailure failure = read_fabric(arguments.source, in, fabric); failure.code != kDone)
    return failure;
  // Nothing to look at must not pass for healthy.
  if (fabric.tables.empty() && fabric.problems.empty())
    return {kNoDevices, "there is no NodeFabric: does the agent run on the nodes?"};
  from = {std::move(fabric.tables), std::move(fabric.policies), *now, *age};
  into = diagnose(from);
  std::vector<Finding> refused;
  refused.reserve(fabric.problems.size());
  for (const std::string& problem : fabric.problems)
    refused.push_back({DoctorCheck::ObjectRefused, Severity::Error, {}, {}, {}, problem});
  add_findings(std::move(refused), into);
  return {};
}

}  // namespace nccl_env::app
