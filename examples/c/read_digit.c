/* Reads a handwritten digit, white on black, from an image of any size. */
#include <stdio.h>
#include <stdlib.h>

#include "digits.h"
#include "pixels.h"

enum { SIDE = 8 };
typedef char the_network_takes_such_images[DIGITS_DATA_ELEMENTS == SIDE * SIDE ? 1 : -1];

int main(int count, char **arguments) {
  if (count != 2) {
    fprintf(stderr, "usage: read_digit image.pgm (or .ppm)\n");
    return 2;
  }
  pixels image = pixels_read(arguments[1]);
  if (!image.bytes) {
    fprintf(stderr, "%s is no PGM or PPM image\n", arguments[1]);
    return 1;
  }
  float data[DIGITS_DATA_ELEMENTS], prob[DIGITS_PROB_ELEMENTS];
  pixels_to_grey(&image, SIDE, SIDE, data);
  pixels_free(&image);

  digits *net = digits_create(NULL, 1);
  if (!net) {
    fprintf(stderr, "this processor lacks instructions, or there is no memory\n");
    return 1;
  }
  int error = digits_run(net, data, prob);
  digits_destroy(net);
  if (error) return 1;

  int best = 0;
  for (int digit = 1; digit < DIGITS_PROB_ELEMENTS; digit++)
    if (prob[digit] > prob[best]) best = digit;
  printf("%d (%.1f %%)\n", best, 100 * prob[best]);
  return 0;
}
