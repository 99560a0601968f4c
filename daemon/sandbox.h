/* What broker, engine and attacher give up for good: capabilities, new privileges, system calls,
 * resources. To be called before the first thread starts. Under a sanitizer the filters only forbid
 * what no run time needs. */
#ifndef PFL_SANDBOX_H
#define PFL_SANDBOX_H

#include <stdbool.h>

/* The broker: keeps CAPS_BROKER; opens for reading alone; may start the reader. */
int sandbox_broker(bool log_refusals);

/* The engine: keeps CAP_IPC_LOCK; writes files, accepts connections, starts threads. No program, no
 * other process, no socket of its own making, no code but what is loaded. */
int sandbox_engine(bool log_refusals);

/* The attacher: keeps no capability; connects to Unix sockets, makes and removes files, sends
 * SIGQUIT to a process that it holds. No program, no other process. */
int sandbox_attacher(void);

#endif
