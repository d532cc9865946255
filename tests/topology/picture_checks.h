// What must hold of every picture, as the places where it does not.
#pragma once

#include <string>
#include <vector>

#include "topology/draw/picture.h"

namespace lockstep::topology::test {

inline bool overlap(const Rect& a, const Rect& b) {
  constexpr double kTouch = 0.5;
  return a.x < b.right() - kTouch && b.x < a.right() - kTouch && a.y < b.bottom() - kTouch &&
         b.y < a.bottom() - kTouch;
}

inline std::vector<std::string> overlapping_words(const Picture& picture) {
  std::vector<std::string> found;
  for (std::size_t a = 0; a < picture.words.size(); ++a) {
    for (std::size_t b = a + 1; b < picture.words.size(); ++b) {
      if (overlap(picture.words[a].box, picture.words[b].box))
        found.push_back(picture.words[a].text + " | " + picture.words[b].text);
    }
  }
  return found;
}

inline std::vector<std::string> overlapping_devices(const Picture& picture) {
  std::vector<std::string> found;
  for (std::size_t a = 0; a < picture.boxes.size(); ++a) {
    for (std::size_t b = a + 1; b < picture.boxes.size(); ++b) {
      const Box& one = picture.boxes[a];
      const Box& other = picture.boxes[b];
      if (one.device && other.device && overlap(one.rect, other.rect))
        found.push_back(to_string(*one.device) + " | " + to_string(*other.device));
    }
  }
  return found;
}

}  // namespace lockstep::topology::test
