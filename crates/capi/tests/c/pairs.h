/* Reads testdata/masks/vocabulary.txt, and pairs that a test wrote: for each five lines, the kind, the source, the
   options, the grammar as text for llguidance.h (texts in hexadecimal), and the tokens. */
#ifndef PAIRS_H
#define PAIRS_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vocabulary {
  uint8_t *bytes;    /* all tokens, one after the other */
  uint32_t *lengths;
  char *marks;       /* 's' special, 'e' ends a text, 0 */
  size_t n;
} vocabulary;

static void stop(const char *why) {
  fprintf(stderr, "%s\n", why);
  exit(1);
}

/* The next line without its end; NULL at the end of the file. */
static char *line_of(FILE *file) {
  size_t room = 64, n = 0;
  char *line = malloc(room);
  int c;
  while ((c = fgetc(file)) != EOF && c != '\n') {
    if (n + 1 == room) line = realloc(line, room *= 2);
    line[n++] = (char)c;
  }
  if (c == EOF && n == 0) {
    free(line);
    return NULL;
  }
  line[n] = 0;
  return line;
}

static int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

/* Reads hexadecimal to where it is written. Returns how many bytes there are. */
static size_t from_hex(const char *hex, uint8_t *to) {
  size_t n = 0;
  while (hex[2 * n] > ' ') {
    to[n] = (uint8_t)(16 * digit(hex[2 * n]) + digit(hex[2 * n + 1]));
    n++;
  }
  return n;
}

/* A text from hexadecimal, in place. */
static char *text_of(char *hex) {
  size_t n = from_hex(hex, (uint8_t *)hex);
  hex[n] = 0;
  return hex;
}

/* `mark`: whether special tokens begin with 0xFF. */
static vocabulary read_vocabulary(const char *path, int mark) {
  vocabulary v = {malloc(1 << 20), malloc(4 << 16), calloc(1, 1 << 16), 0};
  FILE *file = fopen(path, "r");
  size_t at = 0;
  char *line;
  if (!file) stop("no vocabulary");
  while ((line = line_of(file))) {
    const char *space = strchr(line, ' ');
    size_t start = at;
    v.marks[v.n] = space ? space[1] : 0;
    if (mark && v.marks[v.n] == 's') v.bytes[at++] = 0xff;
    at += from_hex(line, v.bytes + at);
    v.lengths[v.n++] = (uint32_t)(at - start);
    free(line);
  }
  fclose(file);
  return v;
}

static void free_vocabulary(vocabulary v) {
  free(v.bytes);
  free(v.lengths);
  free(v.marks);
}

/* FNV-1a over the words of a mask, least byte first. */
static uint64_t add_mask(uint64_t number, const uint32_t *words, size_t n) {
  size_t i;
  int byte;
  for (i = 0; i < n; i++)
    for (byte = 0; byte < 4; byte++)
      number = (number ^ ((words[i] >> (8 * byte)) & 0xff)) * 0x100000001b3u;
  return number;
}
#define NO_MASKS 0xcbf29ce484222325u

static void print_masks(uint64_t number) {
  printf("%08lx%08lx\n", (unsigned long)(number >> 32), (unsigned long)(number & 0xffffffffu));
}

#endif
