// SPDX-License-Identifier: Apache-2.0
// --resolver-image and what belongs to it: flags of the webhook, and of `nccl-env explain`
// for a captured review.
#pragma once

#include <string>

#include "nccl_env/core/decide/plan.h"

namespace CLI {
class App;
}

namespace nccl_env::program {

// Reads into `into`, whose image is "" where the flag is not given.
void add_resolver_options(CLI::App& app, Resolver& into);
// The part that plan_pod takes.
PlanOptions plan_options(const Resolver& resolver);
// Plans as the installation that writes this policy's status. Where no status is, as manifests and chart
// install it: with an init container of the agent's image. `without`: the installation has none.
PlanOptions installed_plan(const NcclPolicy* policy, bool without);

// True if the image is named by its digest: pods then get the image that was checked.
bool is_pinned(const std::string& image);

// Says what is wrong with a Kubernetes quantity above zero, such as 100m, 0.5 or 64Mi; "" if nothing.
std::string quantity_problem(const std::string& text);
// Says what is wrong with the name of an image to pull, [REGISTRY/]NAME[:TAG][@sha256:…]; "" if nothing.
std::string image_problem(const std::string& text);

}  // namespace nccl_env::program
