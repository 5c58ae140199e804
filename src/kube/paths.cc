// SPDX-License-Identifier: Apache-2.0
#include "nccl_env/kube/paths.h"

#include "nccl_env/core/text/strict.h"

namespace nccl_env::kube {

std::string path_of(const Resource& resource) {
  return std::string(resource.group).append("/").append(resource.plural);
}

std::string path_of(const Resource& resource, std::string_view name) {
  return path_of(resource) + "/" + escaped(name);
}

std::string path_in(std::string_view name_space, const Resource& resource) {
  return std::string(resource.group) + "/namespaces/" + escaped(name_space) + "/" +
         std::string(resource.plural);
}

std::string path_in(std::string_view name_space, const Resource& resource, std::string_view name) {
  return path_in(name_space, resource) + "/" + escaped(name);
}

std::string with_query(std::string path, std::string_view query) {
  path += path.find('?') == path.npos ? '?' : '&';
  return path.append(query);
}

std::string by_field(std::string path, std::string_view selector) {
  return selector.empty() ? path : with_query(std::move(path), "fieldSelector=" + escaped(selector));
}

std::string by_label(std::string path, std::string_view selector) {
  return selector.empty() ? path : with_query(std::move(path), "labelSelector=" + escaped(selector));
}

std::string escaped(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";  // RFC 3986, 2.1: in upper case
  constexpr std::string_view kPlain = "-._~";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_alphanumeric(c) || kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace nccl_env::kube
