/* Template arguments in names. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include "daemon/render/templates.h"

static void becomes(const char *name, const char *want)
{
	char *out = malloc(TEMPLATES_ROOM(strlen(name)));
	size_t len = templates_fold(name, out);

	assert_string_equal(out, want);
	assert_int_equal(len, strlen(want));
	free(out);
}

static void stays(const char *name)
{
	becomes(name, name);
}

static void lists_are_folded(void **state)
{
	becomes("foo<int>", "foo<...>");
	becomes("foo<T>", "foo<...>");
	becomes("std::vector<int, std::allocator<int> >::push_back(int const&)",
		"std::vector<...>::push_back(int const&)");
	becomes("std::vector<int, std::allocator<int>>::push_back(int&&)",
		"std::vector<...>::push_back(int&&)");
	becomes("a<b<c<d> > >::f<g<h>>(i<j>, k)", "a<...>::f<...>(i<...>, k)");
	becomes("std::enable_if<(3>2), int>::type f<(1<2)>()",
		"std::enable_if<...>::type f<...>()");
	becomes("foo[abi:cxx11]<int>(int)", "foo[abi:cxx11]<...>(int)");
	becomes("decltype (((a<int>)->b)) f<int>()", "decltype (((a<...>)->b)) f<...>()");
	becomes("std::function<void (int)>::operator()(int) const",
		"std::function<...>::operator()(int) const");
	stays("main");
	stays("");
	stays("f<>()");
}

static void operators_stay(void **state)
{
	stays("operator<(A, B)");
	stays("operator<<(A, B)");
	stays("operator>>(A, B)");
	stays("A::operator->() const");
	stays("A::operator->*(int)");
	stays("A::operator<=>(A const&) const");
	stays("A::operator>=(A const&) const");
	stays("operator<<=(A&, int)");
	becomes("A<int>::operator->() const", "A<...>::operator->() const");
	becomes("bool operator< <int>(P<int> const&)", "bool operator< <...>(P<...> const&)");
	becomes("S& operator<< <std::char_traits<char> >(S&, char const*)",
		"S& operator<< <...>(S&, char const*)");
	becomes("S& operator>> <char>(S&)", "S& operator>> <...>(S&)");
	becomes("std::less<void>::operator()<int, int>(int&&)",
		"std::less<...>::operator()<...>(int&&)");
	becomes("call<&A::operator<, int>()", "call<...>()");
	becomes("call<&(A::operator>(B))>()", "call<...>()");
	becomes("myoperator<int>()", "myoperator<...>()");
	becomes("A::operator std::vector<int>()", "A::operator std::vector<...>()");
	stays("A::operator new(unsigned long)");
}

static void lambdas_stay(void **state)
{
	stays("main::{lambda(int)#1}::operator()(int) const");
	becomes("f<int>(int)::{lambda(std::vector<int>&)#2}::operator()<char>(char) const",
		"f<...>(int)::{lambda(std::vector<...>&)#2}::operator()<...>(char) const");
	stays("main()::<lambda(int)>");
	stays("ns::<lambda(auto:1)>::operator()");
	becomes("run<main::{lambda()#1}>(main::{lambda()#1}&&)", "run<...>(main::{lambda()#1}&&)");
	stays("(anonymous namespace)::quiet_one()");
}

static void rust_stays_sane(void **state)
{
	stays("<r::Sq as r::Shape>::run");
	becomes("r::geo::area::<u32>", "r::geo::area::<...>");
	becomes("<alloc::vec::Vec<T> as core::iter::Iterator<Item = u8>>::next",
		"<alloc::vec::Vec<...> as core::iter::Iterator<...>>::next");
	stays("core::fmt::num::<impl core::fmt::Display for u32>::fmt");
	becomes("core::ops::function::FnOnce::call_once::<<A as B>::C, fn(u8) -> u8>",
		"core::ops::function::FnOnce::call_once::<...>");
	becomes("foo::<impl Tr<u8> for Vec<u8>>::go", "foo::<impl Tr<...> for Vec<...>>::go");
	becomes("<dyn Fn(u8) -> Box<u8> as Fn>::call", "<dyn Fn(u8) -> Box<...> as Fn>::call");
}

static void what_does_not_balance_stays(void **state)
{
	stays("foo<int");
	stays("foo<int(>");
	stays("a > b");
	becomes("a<b>::c<d", "a<...>::c<d");
	stays("odd;name <x> file.js:1:2");
	stays("<");
	stays("operator<");
	stays("operator");
}

static void hostile_names_are_no_work(void **state)
{
	size_t n = 32000;
	char *name = malloc(n + 1), *out = malloc(TEMPLATES_ROOM(n));

	memset(name, '<', n / 2);
	memset(name + n / 2, '>', n / 2);
	name[n] = 0;
	assert_int_equal(templates_fold(name, out), n);
	for (size_t i = 0; i < n; i++)
		name[i] = "<:a>"[i % 4];
	assert_true(templates_fold(name, out) >= n);
	free(name);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_folded),
		cmocka_unit_test(operators_stay),
		cmocka_unit_test(lambdas_stay),
		cmocka_unit_test(rust_stays_sane),
		cmocka_unit_test(what_does_not_balance_stays),
		cmocka_unit_test(hostile_names_are_no_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
