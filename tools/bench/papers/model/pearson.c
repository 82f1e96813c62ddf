/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pearson.c - Pearson's correlation, and the interval of the difference of two of them.
 *
 * Source of the interval: G. Y. Zou, "Toward using confidence intervals to compare correlations",
 * Psychological Methods 12(4), 2007, for two correlations that have one variable in common: each
 * has its own interval by Fisher's transformation, and the two are combined with their own
 * correlation.
 */
#include <math.h>

#include "model.h"

double model_pearson(const double *x, const double *y, size_t count)
{
	double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
	size_t i;

	for (i = 0; i < count; i++) {
		mean_x += x[i] / (double)count;
		mean_y += y[i] / (double)count;
	}
	for (i = 0; i < count; i++) {
		xx += (x[i] - mean_x) * (x[i] - mean_x);
		yy += (y[i] - mean_y) * (y[i] - mean_y);
		xy += (x[i] - mean_x) * (y[i] - mean_y);
	}
	return count > 2 && xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

static double square(double x)
{
	return x * x;
}

void model_zou(double x, double y, double between, size_t count, double z, double *low,
	       double *high)
{
	const double step = count > 3 ? z / sqrt((double)count - 3) : INFINITY;
	const double x_low = tanh(atanh(x) - step), x_high = tanh(atanh(x) + step);
	const double y_low = tanh(atanh(y) - step), y_high = tanh(atanh(y) + step);
	/* The correlation between the two correlations. */
	const double both = ((between - x * y / 2) * (1 - x * x - y * y - between * between) +
			     between * between * between) /
			    ((1 - x * x) * (1 - y * y));

	*low = y - x -
	       sqrt(square(y - y_low) + square(x_high - x) - 2 * both * (y - y_low) * (x_high - x));
	*high = y - x +
		sqrt(square(y_high - y) + square(x - x_low) -
		     2 * both * (y_high - y) * (x - x_low));
}
