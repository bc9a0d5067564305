/* The portable program in C99: tanh, sigma, and whole agents with a GRU, an LSTM or a minGRU.

   Usage: portable tanh|sigmoid|gru|lstm|mingru < numbers, with REAL either float or double.
   Numbers are raw and of the type REAL. For a function: its arguments. For a cell: the sizes of
   inputs and units and the number of steps; input weights (gate, unit, input) and biases (gate,
   unit); but for a minGRU recurrent weights (gate, unit, unit); output weights (action, unit) and biases;
   one observation for each step. Printed are the bits of each result, or after each step those of
   the state, of an LSTM h and then c, and the action. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef REAL
#define REAL float
#endif

static REAL take(void) {
    REAL number;
    if (fread(&number, sizeof number, 1, stdin) != 1) exit(2);
    return number;
}

static REAL *take_many(size_t count) {
    REAL *numbers = malloc((count + 1) * sizeof *numbers);
    for (size_t n = 0; n < count; n++) numbers[n] = take();
    return numbers;
}

static void print_bits(REAL number) {
    unsigned char bytes[sizeof number];
    memcpy(bytes, &number, sizeof number);
    for (size_t n = sizeof number; n-- > 0;) printf("%02x", bytes[n]);
    printf(" ");
}

/* Of n terms the second half is added to the first, and so on; of an odd number the middle waits. */
static REAL add_up(REAL *terms, size_t n) {
    while (n > 1) {
        size_t half = (n + 1) / 2;
        for (size_t k = 0; half + k < n; k++) terms[k] = terms[k] + terms[half + k];
        n = half;
    }
    return terms[0];
}

static REAL dot(const REAL *row, const REAL *x, size_t n) {
    REAL terms[1024];
    for (size_t k = 0; k < n; k++) terms[k] = row[k] * x[k];
    return add_up(terms, n);
}

static REAL tanh_portable(REAL x) {
    if (x > 20) x = 20;
    if (x < -20) x = -20;
    REAL y = x * (REAL)0.125, square = y * y, tail = square / 13;
    for (int odd = 11; odd >= 3; odd -= 2) tail = square / (tail + odd);
    y = y / (tail + 1);
    for (int n = 0; n < 3; n++) y = (y + y) / (y * y + 1);
    return y;
}

static REAL sigmoid(REAL x) {
    return tanh_portable(x * (REAL)0.5) * (REAL)0.5 + (REAL)0.5;
}

static REAL blend(REAL z, REAL held, REAL candidate) {
    REAL kept = z * held, rest = 1 - z;
    REAL taken = rest * candidate;
    return kept + taken;
}

static void run_cell(int is_gru, int is_lstm) {
    size_t inputs = (size_t)take(), size = (size_t)take(), steps = (size_t)take();
    size_t gates = is_gru ? 3 : is_lstm ? 4 : 2;
    REAL *weight = take_many(gates * size * inputs), *bias = take_many(gates * size);
    REAL *recurrent = take_many(is_gru || is_lstm ? gates * size * size : 0);
    REAL *output = take_many(4 * size), *output_bias = take_many(4);
    REAL *h = calloc(size, sizeof *h), *after = calloc(size, sizeof *after);
    REAL *c = calloc(size, sizeof *c);
    for (size_t step = 0; step < steps; step++) {
        REAL *seen = take_many(inputs);
        for (size_t unit = 0; unit < size; unit++) {
            REAL x[4], r[4];
            for (size_t gate = 0; gate < gates; gate++) {
                size_t row = gate * size + unit;
                x[gate] = dot(weight + row * inputs, seen, inputs) + bias[row];
                if (is_gru || is_lstm) r[gate] = dot(recurrent + row * size, h, size);
            }
            if (is_gru) {
                REAL reset = sigmoid(x[0] + r[0]), z = sigmoid(x[1] + r[1]);
                REAL product = reset * r[2];
                after[unit] = blend(z, h[unit], tanh_portable(x[2] + product));
            } else if (is_lstm) {
                REAL kept = sigmoid(x[1] + r[1]) * c[unit];
                REAL taken = sigmoid(x[0] + r[0]) * tanh_portable(x[2] + r[2]);
                c[unit] = kept + taken;
                after[unit] = sigmoid(x[3] + r[3]) * tanh_portable(c[unit]);
            } else {
                after[unit] = blend(sigmoid(x[0]), h[unit], x[1]);
            }
        }
        memcpy(h, after, size * sizeof *h);
        int best = 0;
        REAL most = 0;
        for (int action = 0; action < 4; action++) {
            REAL logit = dot(output + (size_t)action * size, h, size) + output_bias[action];
            if (action == 0 || logit > most) best = action, most = logit;
        }
        for (size_t unit = 0; unit < size; unit++) print_bits(h[unit]);
        for (size_t unit = 0; is_lstm && unit < size; unit++) print_bits(c[unit]);
        printf("%d\n", best);
        free(seen);
    }
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    int is_gru = !strcmp(arguments[1], "gru"), is_lstm = !strcmp(arguments[1], "lstm");
    if (is_gru || is_lstm || !strcmp(arguments[1], "mingru")) {
        run_cell(is_gru, is_lstm);
        return 0;
    }
    int is_tanh = !strcmp(arguments[1], "tanh");
    REAL x;
    while (fread(&x, sizeof x, 1, stdin) == 1) print_bits(is_tanh ? tanh_portable(x) : sigmoid(x));
    return 0;
}
