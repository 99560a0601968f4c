// What the page keeps in the browser; without a place for it the page works as well.
export function remember(key: string): string | null {
	try {
		return localStorage.getItem(`profiled.${key}`);
	} catch {
		return null;
	}
}

export function keep(key: string, value: string | null): void {
	try {
		if (value === null)
			localStorage.removeItem(`profiled.${key}`);
		else
			localStorage.setItem(`profiled.${key}`, value);
	} catch {
		// Full, or forbidden.
	}
}
