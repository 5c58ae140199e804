// SPDX-License-Identifier: Apache-2.0
// nlohmann_json's functions as objects, for programs whose own units are not optimised
// (tests/CMakeLists.txt).
#include <nlohmann/json.hpp>

template class nlohmann::basic_json<>;
template class nlohmann::detail::serializer<nlohmann::json>;
template class nlohmann::detail::json_sax_dom_parser<nlohmann::json>;
