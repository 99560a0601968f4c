/* What symbols are shown as. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include "daemon/reader/demangle.h"

static char out[DEMANGLE_OUT_MAX];

static void spelled_out(void **state)
{
	static const char *const table[][2] = {
		{"main", "main"},
		{"", ""},
		{"_Z3foov", "foo()"},
		{"_Z3fooi", "foo(int)"},
		{"_ZNSt6vectorIiSaIiEE9push_backEOi",
			"std::vector<int, std::allocator<int> >::push_back(int&&)"},
		{"_Z1fSs",
			"f(std::basic_string<char, std::char_traits<char>, "
			"std::allocator<char> >)"},
		{"_ZZN4main3fooEvENKUlvE_clEv", "main::foo()::{lambda()#1}::operator()() const"},
		{"_ZTv0_n24_NSoD0Ev",
			"virtual thunk to std::basic_ostream<char, "
			"std::char_traits<char> >::~basic_ostream()"},
		/* Parts of a function. */
		{"_Z3foov.cold", "foo() [clone .cold]"},
		{"_Z3fooILi3EEvv.constprop.0.cold",
			"void foo<3>() [clone .constprop.0] [clone .cold]"},
		{"splitme.cold", "splitme.cold"},
		/* Looks like old Rust, but has no hash at its end. */
		{"_ZN12_GLOBAL__N_19quiet_oneEv", "(anonymous namespace)::quiet_one()"},
		/* Old Rust: the hash goes. */
		{"_ZN1r3geo4area17h0123456789abcdefE", "r::geo::area"},
		{"_ZN1r3geo4area17h0123456789abcdefE.llvm.1234567890", "r::geo::area"},
		{"_ZN34_$LT$r..Sq$u20$as$u20$r..Shape$GT$3run17h0123456789abcdefE",
			"<r::Sq as r::Shape>::run"},
		{"_ZN4core3ptr17h0123456789abcdefE", "core::ptr"},
		/* New Rust. */
		{"_RINvNtCsdU7bYEYTn9_1r3geo4areamEB4_", "r::geo::area::<u32>"},
		{"_RNvMCs1_1rNtB2_2Sq3run", "<r::Sq>::run"},
		{"_RNvXCs1_1rNtB2_2SqNtB2_5Shape3run", "<r::Sq as r::Shape>::run"},
		/* Not mangled, or cut short. */
		{"_Z", "_Z"},
		{"_R", "_R"},
		{"_ZN", "_ZN"},
		{"_ZNSt6vectorI", "_ZNSt6vectorI"},
		{"_GLOBAL__sub_I_main", "_GLOBAL__sub_I_main"},
		{"__libc_start_main", "__libc_start_main"},
		{"_init", "_init"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_string_equal(demangle(table[i][0], out), table[i][1]);
}

/* f(A<int, int>, A<that, that>, A<that, that>, …): each type twice as long as the one before. */
static size_t doubling_name(char *name, unsigned levels)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t n = (size_t)sprintf(name, "_Z1f1AIiiE");

	assert_true(levels <= 36);
	for (unsigned i = 0; i < levels; i++)
		n += (size_t)sprintf(name + n, "S_IS%c_S%c_E", digits[i], digits[i]);
	return n;
}

static void name_that_explodes_stays_as_it_is(void **state)
{
	char name[1024];

	doubling_name(name, 3);
	assert_string_not_equal(demangle(name, out), name);
	assert_true(doubling_name(name, 30) < 350);
	assert_ptr_equal(demangle(name, out), name);
}

static void long_and_deep_names_end(void **state)
{
	static char name[3 * DEMANGLE_IN_MAX];
	static const char *const parts[] = {
		"P", "F", "1a", "DT", "IL", "Nv", "RI", "S_", "T_", "X", "N", "I"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		for (int rust = 0; rust < 2; rust++) {
			strcpy(name, rust ? "_R" : "_Z1f");
			while (strlen(name) + 8 < DEMANGLE_IN_MAX)
				strcat(name, parts[i]);
			assert_non_null(demangle(name, out));
		}
	}
	/* A long but sound one is spelled out; one over the cap is not. */
	strcpy(name, "_ZN");
	for (int i = 0; i < 900; i++)
		strcat(name, "1a");
	strcat(name, "1bEv");
	assert_int_equal(strncmp(demangle(name, out), "a::a::", 6), 0);
	memset(name, 'a', sizeof(name) - 1);
	memcpy(name, "_Z9999", 6);
	assert_ptr_equal(demangle(name, out), name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(spelled_out),
		cmocka_unit_test(name_that_explodes_stays_as_it_is),
		cmocka_unit_test(long_and_deep_names_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
