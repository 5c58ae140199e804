// SPDX-License-Identifier: Apache-2.0
#include "kept_table.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "nccl_env/kube/list.h"

namespace nccl_env::agent {

void KeptTable::follow(OnLoss on_loss) {
  const std::lock_guard lock(mutex_);
  on_loss_ = std::move(on_loss);
}

void KeptTable::begin_write() {
  const std::lock_guard lock(mutex_);
  writing_ = true;
}

void KeptTable::end_write(const nlohmann::json& stored) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  written_.reset();
  if (!stored.is_null()) written_ = form_of(stored);
  if (!written_ || (seen_ && seen_->version.empty())) seen_.reset();  // a list from before the write
  judge();
}

void KeptTable::begin_list() {
  const std::lock_guard lock(mutex_);
  listed_.reset();
}

void KeptTable::list_item(const nlohmann::json& object) {
  const std::lock_guard lock(mutex_);
  listed_ = form_of(object);
}

void KeptTable::complete_list() {
  const std::lock_guard lock(mutex_);
  see(std::exchange(listed_, std::nullopt).value_or(Form{}));
}

void KeptTable::upsert(const nlohmann::json& object) {
  const std::lock_guard lock(mutex_);
  see(form_of(object));
}

void KeptTable::remove(const nlohmann::json& object) {
  const std::lock_guard lock(mutex_);
  see({kube::resource_version_of(object), 0});
}

// Hashes what only the agent may change: the observed part and the owning Node. Others may add labels and
// annotations.
KeptTable::Form KeptTable::form_of(const nlohmann::json& object) {
  const nlohmann::json::json_pointer owners("/metadata/ownerReferences");
  std::string content = object.value("observed", nlohmann::json()).dump();
  if (object.contains(owners)) content += object.at(owners).dump();
  return {kube::resource_version_of(object), std::hash<std::string>()(content) | 1};
}

// Versions are decimal numbers of any length. An unknown version counts as newer than all.
bool KeptTable::is_newer(const Form& form, const Form& than) {
  if (form.version.empty()) return true;
  return std::pair(form.version.size(), form.version) > std::pair(than.version.size(), than.version);
}

void KeptTable::see(Form form) {
  seen_ = std::move(form);
  judge();
}

void KeptTable::judge() {
  if (writing_ || !written_ || !seen_) return;
  const Form seen = *std::exchange(seen_, std::nullopt);
  if (!is_newer(seen, *written_) || seen.content == written_->content || !on_loss_) return;
  on_loss_(seen.content == 0 ? "it is gone" : "somebody changed it");
}

}  // namespace nccl_env::agent
