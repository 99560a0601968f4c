// What went wrong with something that the reader asked for: a sentence that stays until it is closed.
import { Cell, useCell } from '../cell';

interface Alert {
	id: number;
	text: string;
}

const ALERTS_MAX = 4;
const alerts = new Cell<Alert[]>([]);
let last = 0;

export function alertReader(problem: unknown): void {
	const text = problem instanceof Error ? problem.message : String(problem);
	const others = alerts.get().filter((alert) => alert.text !== text);

	alerts.set([...others, { id: ++last, text }].slice(-ALERTS_MAX));
}

// For what a click starts: tells what goes wrong.
export function doing(work: Promise<unknown>): void {
	work.catch(alertReader);
}

export function Alerts() {
	const all = useCell(alerts);
	const close = (id: number) => alerts.set(alerts.get().filter((alert) => alert.id !== id));

	return (
		<div class="alerts" role="alert">
			{all.map((alert) => (
				<div key={alert.id} class="alert">
					<p>{alert.text}</p>
					<button type="button" class="quiet" aria-label="Close this message" onClick={() => close(alert.id)}>
						✕
					</button>
				</div>
			))}
		</div>
	);
}
