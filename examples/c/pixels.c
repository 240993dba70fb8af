#include "pixels.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* The next number of a header, behind spaces and comments; -1 if there is none. */
static int number(FILE *file) {
  int letter = getc(file), found = -1;
  while (isspace(letter) || letter == '#') {
    if (letter == '#')
      while (letter != '\n' && letter != EOF) letter = getc(file);
    else
      letter = getc(file);
  }
  for (; isdigit(letter) && found < 1 << 20; letter = getc(file))
    found = (found < 0 ? 0 : found * 10) + letter - '0';
  return isspace(letter) ? found : -1;
}

pixels pixels_read(const char *path) {
  pixels image = {0, 0, 0, NULL};
  FILE *file = fopen(path, "rb");
  if (!file) return image;
  int magic = getc(file) == 'P' ? getc(file) : EOF;
  image.channels = magic == '5' ? 1 : magic == '6' ? 3 : 0;
  image.width = number(file);
  image.height = number(file);
  int most = number(file);
  if (image.channels && image.width > 0 && image.height > 0 && most == 255) {
    size_t size = (size_t)image.width * (size_t)image.height * (size_t)image.channels;
    image.bytes = malloc(size);
    if (image.bytes && fread(image.bytes, 1, size, file) != size) pixels_free(&image);
  }
  fclose(file);
  return image;
}

void pixels_free(pixels *image) {
  free(image->bytes);
  image->bytes = NULL;
}

/* The mean of the pixels from (top, left) to (bottom, right), without the last ones. */
static float mean(const pixels *image, int top, int bottom, int left, int right) {
  double sum = 0;
  for (int y = top; y < bottom; y++) {
    const unsigned char *row = image->bytes + (size_t)y * image->width * image->channels;
    for (int n = left * image->channels; n < right * image->channels; n++) sum += row[n];
  }
  return (float)(sum / ((double)(bottom - top) * (right - left) * image->channels) / 255);
}

void pixels_to_grey(const pixels *image, int height, int width, float *grey) {
  for (int y = 0; y < height; y++) {
    int top = (int)((long long)y * image->height / height);
    int bottom = (int)((long long)(y + 1) * image->height / height);
    for (int x = 0; x < width; x++) {
      int left = (int)((long long)x * image->width / width);
      int right = (int)((long long)(x + 1) * image->width / width);
      grey[y * width + x] = mean(image, top, bottom > top ? bottom : top + 1, left,
                                 right > left ? right : left + 1);
    }
  }
}

int pixels_write(const char *path, int height, int width, const float *grey) {
  FILE *file = fopen(path, "wb");
  if (!file) return 1;
  fprintf(file, "P5\n%d %d\n255\n", width, height);
  for (size_t n = 0; n < (size_t)height * (size_t)width; n++) putc((int)(grey[n] * 255 + 0.5f), file);
  int failed = ferror(file);
  return fclose(file) || failed;
}
