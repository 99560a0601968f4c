// three_cc [SECONDS]: as three.c, in a namespace and a template.
#include "target.h"

namespace shares
{
constexpr unsigned long tenth = 2000;

template <typename T> struct Worker {
	T times;
	NI void sixty()
	{
		spin(6 * tenth * times);
	}
	NI void thirty()
	{
		spin(3 * tenth * times);
	}
	NI void ten()
	{
		spin(tenth * times);
	}
};

template <typename T> NI void turn(Worker<T> &w)
{
	w.sixty();
	w.thirty();
	w.ten();
	KEEP;
}
} // namespace shares

int main(int argc, char **argv)
{
	shares::Worker<unsigned long> w{1};

	target_ends_after(argc > 1 ? argv[1] : nullptr);
	for (;;)
		shares::turn(w);
}
