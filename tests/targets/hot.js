// hot.js [SECONDS]: hotLoop calls a method with an odd name, which does all the work.
"use strict";

class Odd {
	static "odd;name <x>"(n) {
		let s = 0;
		for (let i = 0; i < n; i++)
			s += i % 7;
		return s;
	}
}

function hotLoop(n) {
	let s = 0;
	for (let i = 0; i < n; i++)
		s += Odd["odd;name <x>"](1000);
	return s;
}

const end = Date.now() + 1000 * Number(process.argv[2] || Infinity);
while (Date.now() < end)
	hotLoop(1000);
