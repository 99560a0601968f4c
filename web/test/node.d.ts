// The little of Node that unit tests use: all of its types would say of the page's timers that they are Node's.
declare module 'node:assert' {
	export function ok(value: unknown, message?: string): asserts value;
	export function strictEqual<T>(actual: T, expected: T, message?: string): void;
	export function deepStrictEqual<T>(actual: T, expected: T, message?: string): void;
	export function throws(act: () => unknown, expected?: RegExp): void;
}

declare module 'node:test' {
	export function test(name: string, act: () => void | Promise<void>): void;
}
