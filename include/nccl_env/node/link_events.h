// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "nccl_env/result.h"

namespace nccl_env::node {

// The kernel's word that an interface or an address of this network namespace changed, over rtnetlink. It
// says that, not what: whoever hears it reads again.
class LinkEvents {
 public:
  // What changes after this returns can't be missed.
  static Result<std::unique_ptr<LinkEvents>> open();
  LinkEvents(const LinkEvents&) = delete;
  LinkEvents& operator=(const LinkEvents&) = delete;
  ~LinkEvents();

  // Readable when something came.
  [[nodiscard]] int descriptor() const;
  // Takes what came, without waiting; true if it may concern an HCA. Pods come and go with veth pairs, which
  // never do. In doubt (lost messages) true.
  bool take();

 private:
  struct Body;
  explicit LinkEvents(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace nccl_env::node
