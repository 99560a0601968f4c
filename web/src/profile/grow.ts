// A typed array of twice the length with the same at its beginning.
export function doubled<T extends Int32Array | Float64Array | Float32Array | Uint8Array>(old: T): T {
	const more = new (old.constructor as new (length: number) => T)(old.length * 2);

	more.set(old);
	return more;
}
