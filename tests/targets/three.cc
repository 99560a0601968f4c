// three_cc [SECONDS]: as three.c, in a namespace and a template.
#include "target.h"

namespace shares
{
constexpr unsigned long tenth = 2000;

template <typename T> struct Worker {
	T times;
	NI void sixty(T now)
	{
		spin(6 * now * times);
	}
	NI void thirty(T now)
	{
		spin(3 * now * times);
	}
	NI void ten(T now)
	{
		spin(now * times);
	}
};

template <typename T> NI void turn(Worker<T> &w)
{
	T now = varied(tenth);

	w.sixty(now);
	w.thirty(now);
	w.ten(now);
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
