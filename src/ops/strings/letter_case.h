// Upper and lower case of UTF-8, without the process's locale.
#pragma once

#include <string>
#include <string_view>

#include "ops/poller.h"
#include "ops/strings/case_rules.h"

namespace lathe {

/// Letters by Unicode's simple case mapping and by what `rules` say otherwise; the rest, and bytes that are
/// not UTF-8, stay as they are.
std::string lower_case(std::string_view text, CaseRules rules, Poller& poll);
std::string upper_case(std::string_view text, CaseRules rules, Poller& poll);

}  // namespace lathe
