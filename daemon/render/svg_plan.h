/* What a flame graph draws and where, before a byte of it is written. */
#ifndef PFL_RENDER_SVG_PLAN_H
#define PFL_RENDER_SVG_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/render/render.h"
#include "daemon/render/view.h"

#define SVG_MARGIN       12  /* pixels left and right */
#define SVG_HEAD         134 /* pixels above the boxes, at least */
#define SVG_MODULE_HUES  12  /* colours for modules; further ones share one */
#define SVG_MODULE_OTHER SVG_MODULE_HUES
#define SVG_NAME_HUES    8

/* Kinds as people tell them apart; the order is that of the legend. */
enum svg_hue {
	SVG_USER,
	SVG_INLINED,
	SVG_JIT,
	SVG_KERNEL,
	SVG_UNNAMED,
	SVG_LEVEL,
	SVG_ROOT,
	SVG_HUES
};

/* Its letter in class names. */
char svg_hue_letter(enum svg_hue hue);

/* The colours of one name in each of the three schemes. */
struct svg_paint {
	uint8_t hue;    /* enum svg_hue */
	uint8_t shade;  /* 0..3, by the name's hash */
	uint8_t module; /* 0..SVG_MODULE_OTHER */
	uint8_t name;   /* 0..SVG_NAME_HUES - 1 */
};

/* Lengths in tenths of a pixel, which is all the precision that is written. */
struct svg_plan {
	struct svg_options options; /* defaults filled in */
	uint32_t head;              /* pixels above the boxes; see svg_head_height() */
	uint32_t inner;             /* width of the root */
	uint32_t row, gap;          /* of a row, with its gap */
	uint32_t font;              /* pixels; 0: rows too thin for text */
	uint32_t rows;
	uint64_t min_weight;      /* less is narrower than a tenth of a pixel */
	uint32_t left_out;        /* nodes that are */
	uint64_t left_out_weight; /* each sample once, however many of its frames are left out */
	uint32_t drawn;
	bool hue_used[SVG_HUES];  /* for the legend */
	struct svg_paint *paints; /* by name */
	/* Modules with a colour of their own: a name of each, SVG_NO_NAME where a slot is free. */
	uint32_t module_name[SVG_MODULE_HUES];
	uint64_t module_self[SVG_MODULE_HUES];
	bool module_others;
};
#define SVG_NO_NAME UINT32_MAX

/* -ENOMEM. svg_plan_done() in any case. */
int svg_plan_init(struct svg_plan *p, const struct view *view, const struct svg_options *options);
void svg_plan_done(struct svg_plan *p);
/* The left edge of what starts at weight, in tenths of a pixel from the root's. */
uint32_t svg_plan_x(const struct svg_plan *p, const struct view *view, uint64_t weight);

#endif
