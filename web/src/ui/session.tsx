// A session in few words, and what one can do with it.
import type { Session } from '../api';
import { count, duration } from './format';

const ENDINGS: Record<string, string> = {
	stop: 'stopped',
	duration: 'done',
	target_gone: 'target gone',
	shutdown: 'shut down',
	end_of_file: 'imported',
};

export function stateOf(session: Session): string {
	return session.state === 'running' ? 'running' : (ENDINGS[session.ended_by ?? ''] ?? session.state);
}

export function State({ session }: { session: Session }) {
	return <span class={session.state === 'running' ? 'state running' : 'state'}>{stateOf(session)}</span>;
}

// How far a running session is; how long one has taken that is over.
export function Progress({ session }: { session: Session }) {
	const limited = session.state === 'running' && session.duration_s > 0;

	return (
		<span class="progress">
			{limited && (
				<progress
					aria-label={`Progress of session ${session.id}`}
					max={session.duration_s}
					value={Math.min(session.elapsed_s, session.duration_s)}
				/>
			)}
			<span>
				{duration(session.elapsed_s)}
				{limited && ` of ${duration(session.duration_s)}`}
			</span>
		</span>
	);
}

export function rateOf(session: Session): string {
	return session.frequency_hz ? `${count(session.frequency_hz)} Hz` : `every ${count(session.period ?? 0)}`;
}
