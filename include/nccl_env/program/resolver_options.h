// SPDX-License-Identifier: Apache-2.0
// --resolver-image and what belongs to it: flags that the webhook and `nccl-env explain` share.
#pragma once

#include <string>

#include "nccl_env/core/decide/plan.h"

namespace CLI {
class App;
}

namespace nccl_env::app {

// Reads into `into`, whose image is "" where the flag is not given.
void add_resolver_options(CLI::App& app, Resolver& into);
// The part that plan_pod takes.
PlanOptions plan_options(const Resolver& resolver);

// The image is named by its digest: what a pod gets is then what was looked at.
bool is_pinned(const std::string& image);

// A Kubernetes quantity above zero, such as 100m, 0.5 or 64Mi: what is wrong with this text, "" if nothing.
std::string quantity_problem(const std::string& text);
// A name that a kubelet can pull, [REGISTRY/]NAME[:TAG][@sha256:…]: what is wrong, "" if nothing.
std::string image_problem(const std::string& text);

}  // namespace nccl_env::app
