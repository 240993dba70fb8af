/* Images in the formats of netpbm, which every image editor writes: PGM (grey) and PPM (colour). */
#ifndef PIXELS_H
#define PIXELS_H

typedef struct {
  int width, height, channels; /* channels: 1 or 3 */
  unsigned char *bytes;        /* rows from top to bottom, channels of a pixel side by side */
} pixels;

/* The image in a binary PGM or PPM file with one byte a channel; bytes is NULL on an error. */
pixels pixels_read(const char *path);
void pixels_free(pixels *image);

/* Resizes an image to one of (height, width) in grey, by the mean of each region, from 0 to 1. */
void pixels_to_grey(const pixels *image, int height, int width, float *grey);

/* Writes an image of (height, width) in grey, from 0 to 1, as a binary PGM file; 0 if it is done. */
int pixels_write(const char *path, int height, int width, const float *grey);

#endif
