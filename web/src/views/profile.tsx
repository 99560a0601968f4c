// The flame graph of a session, as the daemon draws it.
import { profileAddress } from '../api';
import type { SessionViewProps } from './table';

export function ProfileView({ session, query }: SessionViewProps) {
	if (session.ledger.samples === 0)
		return <p class="note">No samples yet: the target has not used the CPU so far.</p>;
	return (
		<iframe
			class="picture"
			title="Flame graph"
			sandbox="allow-scripts"
			src={profileAddress(session.id, 'svg', Object.fromEntries(query))}
		/>
	);
}
