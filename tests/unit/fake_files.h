/* The calls of daemon/broker/client.h that open ELF files, made directly; beside fake_broker.h. */
#ifndef PFL_TESTS_FAKE_FILES_H
#define PFL_TESTS_FAKE_FILES_H

struct fake_files {
	int mapped_error;       /* what broker_open_mapped() shall answer; 0: it opens */
	unsigned mapped_opened; /* how often it did */
};
extern struct fake_files fake_files;

#endif
