// The programs of the pictures: one source under several names, each with its own mix of work.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORK __attribute__((noinline)) static void

static volatile double sink;

WORK spin(int rounds)
{
	for (int i = 0; i < rounds * 1000; i++)
		sink += sqrt(i);
}

WORK sha256_block(void)
{
	spin(30);
}
WORK verify_signature(void)
{
	sha256_block();
	spin(5);
}
WORK check_card(void)
{
	verify_signature();
	verify_signature();
}
WORK tax_for(void)
{
	spin(6);
}
WORK apply_discounts(void)
{
	spin(14);
	tax_for();
}
WORK price_cart(void)
{
	apply_discounts();
	tax_for();
	spin(4);
}
WORK html_escape(void)
{
	spin(12);
}
WORK format_money(void)
{
	spin(5);
}
WORK render_receipt(void)
{
	format_money();
	html_escape();
	spin(3);
}
WORK write_log(void)
{
	FILE *f = fopen("/dev/null", "w");
	for (int i = 0; i < 400; i++)
		fprintf(f, "%d %f\n", i, sink), fflush(f);
	fclose(f);
}
WORK handle_checkout(void)
{
	price_cart();
	check_card();
	render_receipt();
	write_log();
}

WORK decode_jpeg_block(void)
{
	spin(25);
}
WORK decode_jpeg(void)
{
	for (int i = 0; i < 3; i++)
		decode_jpeg_block();
	spin(6);
}
WORK resize_row(void)
{
	spin(18);
}
WORK resize(void)
{
	resize_row();
	resize_row();
}
WORK make_thumbnail(void)
{
	decode_jpeg();
	resize();
	write_log();
}

WORK tokenize(void)
{
	spin(9);
}
WORK read_postings(void)
{
	spin(16);
}
WORK intersect(void)
{
	read_postings();
	read_postings();
	spin(7);
}
static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}
WORK rank_results(void)
{
	static int scores[4000];

	for (int i = 0; i < 4000; i++)
		scores[i] = rand();
	qsort(scores, 4000, sizeof(*scores), compare);
}
WORK handle_query(void)
{
	tokenize();
	intersect();
	rank_results();
	render_receipt();
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/') + 1;
	void (*handle)(void) = !strcmp(name, "checkout") ? handle_checkout
		: !strcmp(name, "thumbnailer")           ? make_thumbnail
							 : handle_query;
	int busy = argc > 1 ? atoi(argv[1]) : 50, pause_ms = argc > 2 ? atoi(argv[2]) : 50;

	for (;;) {
		for (int i = 0; i < busy; i++)
			handle();
		usleep((useconds_t)pause_ms * 1000);
	}
}
