#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "topology/advice/comments.h"
#include "topology/advice/refusal.h"
#include "topology/advice/writers.h"
#include "topology/letters.h"

namespace lockstep::topology {
namespace {

bool is_plain(char c) {
  constexpr std::string_view kPlain = "_./:=,@%+-";
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         kPlain.find(c) != std::string_view::npos;
}

bool is_shell_name(std::string_view name) {
  return !name.empty() && !is_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

}  // namespace

std::string shell_word(std::string_view text) {
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string write_env(const HostAdvice& advice) {
  refuse_harm(advice);
  std::string text = heading_comment(advice);
  for (const Advice& one : advice.settings) {
    text += setting_comment(one);
    if (one.kept) continue;
    if (!is_shell_name(one.variable) || one.value.find('\0') != std::string::npos) {
      throw std::invalid_argument(fmt::format(
          "expected a variable's name and a text without NUL, found [{}]; it cannot be exported",
          one.variable));
    }
    text += fmt::format("export {}={}\n", one.variable, shell_word(one.value));
  }
  return text;
}

}  // namespace lockstep::topology
