/* execer [SECONDS]: works in before_exec for a second of CPU, then becomes ./three, with its pid.
 */
#include <libgen.h>
#include <stdio.h>
#include <time.h>

#include "target.h"

NI void before_exec(void)
{
	spin(1000000);
	KEEP;
}

int main(int argc, char **argv)
{
	char self[4096], path[4200];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return 1;
	self[len] = 0;
	snprintf(path, sizeof(path), "%s/three", dirname(self));
	while (clock() < CLOCKS_PER_SEC)
		before_exec();
	execl(path, "three", argc > 1 ? argv[1] : (char *)NULL, (char *)NULL);
	return 1;
}
