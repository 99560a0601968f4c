/* syscalls [SECONDS]: call_loop asks the kernel for its pid, over and over. */
#include <sys/syscall.h>

#include "target.h"

NI void call_loop(void)
{
	for (int i = 0; i < 1000; i++)
		syscall(SYS_getpid);
	KEEP;
}

int main(int argc, char **argv)
{
	target_ends_after(argc > 1 ? argv[1] : NULL);
	for (;;)
		call_loop();
}
