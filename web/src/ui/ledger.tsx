// What a profile does not know, in a line.
import type { Ledger } from '../api';
import { count, counted, percent } from './format';

// The share of user stacks that reach their outermost frame; null when there are none.
export function wholeShare(ledger: Ledger): number | null {
	let all = 0;

	for (const [end, n] of Object.entries(ledger.unwind_ends))
		if (end !== 'no_user')
			all += n;
	return all ? ledger.unwind_ends.root / all : null;
}

// Rounded down: 100 % is said of all alone.
export function atLeast(share: number): string {
	return `${Math.floor(share * 1000) / 10} %`;
}

export interface LedgerPart {
	text: string;
	bad: boolean; // the profile is wrong by this, or may be
}

export function ledgerParts(ledger: Ledger): LedgerPart[] {
	const parts: LedgerPart[] = [{ text: counted(ledger.samples, 'sample'), bad: false }];
	const whole = wholeShare(ledger);
	const add = (n: number, word: string) => n && parts.push({ text: `${count(n)} ${word}`, bad: true });

	if (whole !== null)
		parts.push({ text: `${atLeast(whole)} of stacks whole`, bad: whole < 0.9 });
	if (ledger.frames_total && ledger.frames_unnamed)
		parts.push({
			text: `${percent(ledger.frames_unnamed / ledger.frames_total)} of frames unnamed`,
			bad: ledger.frames_unnamed > ledger.frames_total / 10,
		});
	add(ledger.lost, 'lost');
	add(ledger.dropped, 'dropped');
	add(ledger.throttled, 'times throttled');
	return parts;
}

export function LedgerLine({ ledger }: { ledger: Ledger }) {
	return (
		<span class="ledger-line">
			{ledgerParts(ledger).map((part) => (
				<span key={part.text.replace(/[\d.,]+/g, '')} class={part.bad ? 'part bad' : 'part'}>
					{part.text}
				</span>
			))}
		</span>
	);
}
