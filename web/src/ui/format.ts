// Numbers, times and amounts as people read them.
const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const count = (n: number): string => whole.format(n);

// "1 process", "12,000 processes".
export function counted(n: number, one: string, many = `${one}s`): string {
	return `${count(n)} ${n === 1 ? one : many}`;
}

export function bytes(n: number): string {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let unit = 0;

	while (n >= 1024 && unit < units.length - 1) {
		n /= 1024;
		unit++;
	}
	return `${unit === 0 || n >= 100 ? n.toFixed(0) : n.toFixed(1)} ${units[unit]}`;
}

// A share of 1, with as many digits as tell something.
export function percent(share: number): string {
	const p = share * 100;

	if (p > 0 && p < 0.005)
		return '< 0.01 %';
	return `${p >= 99.95 || p === 0 ? p.toFixed(0) : p >= 10 ? p.toFixed(1) : p.toFixed(2)} %`;
}

// "0.4 s", "12 s", "3 min 20 s", "5 h 12 min", "12 d 3 h".
export function duration(s: number): string {
	const two = (big: number, bigName: string, small: number, smallName: string) =>
		small ? `${big} ${bigName} ${small} ${smallName}` : `${big} ${bigName}`;

	if (s < 9.95)
		return `${s.toFixed(1).replace(/\.0$/, '')} s`;
	if (s < 120)
		return `${Math.round(s)} s`;
	if (s < 7200)
		return two(Math.floor(s / 60), 'min', Math.floor(s % 60), 's');
	if (s < 172800)
		return two(Math.floor(s / 3600), 'h', Math.floor((s % 3600) / 60), 'min');
	return two(Math.floor(s / 86400), 'd', Math.floor((s % 86400) / 3600), 'h');
}

// A weight in the unit of its event.
export function weight(n: number, unit: 'nanoseconds' | 'count'): string {
	if (unit === 'count')
		return count(n);
	if (n === 0)
		return '0 s';
	if (n < 1e6)
		return `${(n / 1e3).toFixed(n < 1e5 ? 1 : 0)} µs`;
	if (n < 1e9)
		return `${(n / 1e6).toFixed(n < 1e8 ? 1 : 0)} ms`;
	return n < 1e12 ? `${(n / 1e9).toFixed(n < 1e11 ? 2 : 0)} s` : duration(n / 1e9);
}

// A moment in the reader's own time: today without the date.
export function moment(rfc3339: string, now = new Date()): string {
	const at = new Date(rfc3339);
	const two = (n: number) => String(n).padStart(2, '0');
	const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

	if (at.toDateString() === now.toDateString())
		return clock;
	return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${clock}`;
}
