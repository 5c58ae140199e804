// SPDX-License-Identifier: Apache-2.0
// Why a pod of the cluster has the values that it has: told from the pod and from other objects, if read.
//
//   a pod:       [ PodRecord ] + [ PodSurroundings ] --> [ PodAnswer ] --> text, JSON
//   a job:       [ AnsweredPod ]* ---------------------> [ JobAnswer ]
//   a template:  [ TemplateInput ] --> patch, Binding --> the pod that comes of it, answered like a pod
//   a namespace: pods --> [ MissedPods ]
//
// The record says what the pod has, the surroundings what could be read besides it. Answers own their texts:
// they outlive the objects that they were made of.
#pragma once

#include "nccl_env/judge/explain/answered_pod.h"

namespace nccl_env {

// `pod` and `record` are of one pod.
PodAnswer answer_pod(const Pod& pod, const PodRecord& record, const PodSurroundings& surroundings);

}  // namespace nccl_env
