/* Draws the edges of an image of any size, by a network whose library takes every size. */
#include <stdio.h>
#include <stdlib.h>

#include "edges.h"
#include "pixels.h"

/* The network on one image; 0, or the number of an error. */
static int draw(edges *net, const pixels *image, const char *path) {
  edges_sizes sizes = {image->height, image->width};
  edges_shapes shapes;
  int error = edges_infer_shapes(&sizes, &shapes);
  if (error) return error;
  float *grey = malloc(EDGES_IMAGE_ELEMENTS(&sizes) * sizeof *grey);
  float *found = malloc(EDGES_EDGES_ELEMENTS(&shapes) * sizeof *found);
  error = grey && found ? 0 : 1;
  if (!error) {
    pixels_to_grey(image, image->height, image->width, grey);
    error = edges_run(net, &sizes, grey, found);
  }
  if (!error) error = pixels_write(path, (int)shapes.edges[1], (int)shapes.edges[2], found);
  free(grey);
  free(found);
  return error;
}

int main(int count, char **arguments) {
  if (count < 3 || count % 2 == 0) {
    fprintf(stderr, "usage: find_edges image.pgm edges.pgm [another.ppm its-edges.pgm ...]\n");
    return 2;
  }
  edges *net = edges_create(NULL, 1); /* one network for images of all sizes */
  if (!net) {
    fprintf(stderr, "this processor lacks instructions, or there is no memory\n");
    return 1;
  }
  int error = 0;
  for (int n = 1; n < count && !error; n += 2) {
    pixels image = pixels_read(arguments[n]);
    error = image.bytes ? draw(net, &image, arguments[n + 1]) : 1;
    if (error) fprintf(stderr, "%s: no PGM or PPM image, or no memory or file\n", arguments[n]);
    pixels_free(&image);
  }
  edges_destroy(net);
  return error ? 1 : 0;
}
