// SPDX-License-Identifier: Apache-2.0
// Compares all ranks of a job: what has to be equal and isn't, and which pod is the odd one. Judges by the
// pods alone; whatever else was read is in the pods' answers.
#pragma once

#include <array>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_env/judge/explain/job_ranks.h"

namespace nccl_env {

struct JobAnswer {
  std::vector<JobRank> ranks;     // in natural order of their names
  std::vector<Finding> findings;  // of the job; its parts are ranks. Errors first
  std::string sentence;           // for the owner of the job
  std::vector<std::string> notes;
};

// Labels in which controllers write the name of an object on its pods. Sources: kubernetes/api batch/v1,
// kubeflow/training-operator, sigs.k8s.io/jobset, sigs.k8s.io/lws, volcano-sh/apis, ray-project/kuberay.
inline constexpr std::array<std::string_view, 7> kJobLabels{"batch.kubernetes.io/job-name",
                                                            "job-name",
                                                            "training.kubeflow.org/job-name",
                                                            "jobset.sigs.k8s.io/jobset-name",
                                                            "leaderworkerset.sigs.k8s.io/name",
                                                            "volcano.sh/job-name",
                                                            "ray.io/cluster"};

// The names of the jobs that the pods belong to, by a label that all of them have and none shares; empty
// where they may be of one.
std::vector<std::string> several_jobs(std::span<const AnsweredPod> members);

// The job's name: by a label that all pods share, else by the first pod's label or owner.
std::string job_name(std::span<const AnsweredPod> members);
// "jobset.sigs.k8s.io/jobset-name=llama" of the labels of a pod, by `value_of` (each "" where absent): the
// outermost object that they name; "" if they name none.
std::string job_label(const std::function<std::string(std::string_view label)>& value_of);

// `name` is the job's, for the sentence.
JobAnswer answer_job(std::string_view name, std::span<const AnsweredPod> members);

struct JobTitle {
  std::string name_space;
  std::string name;
  std::vector<std::string> unread;  // what was left out, each once
};
// docs/use/explain.md names the keys; they do not change.
nlohmann::ordered_json to_json(const JobAnswer& answer, std::span<const AnsweredPod> members,
                               const JobTitle& title);
// For people, in 80 columns.
std::string render_text(const JobAnswer& answer, std::span<const AnsweredPod> members, const JobTitle& title);

}  // namespace nccl_env
