// What several parts of the page show: sessions and status, asked for again and again by the shell.
import { getStatus, listSessions, type Session, type Status } from './api';
import { Cell } from './cell';

export const sessions = new Cell<Session[] | null>(null); // null: not known yet
export const status = new Cell<Status | null>(null);

// The session that views of one are about, also while another view is in sight; 0: none yet.
export const current = new Cell<number>(0);

export async function loadSessions(): Promise<void> {
	sessions.set((await listSessions()).sessions);
}

export async function loadStatus(): Promise<void> {
	status.set(await getStatus());
}

// Puts what is known of a session into the list without waiting for the next turn.
export function learn(session: Session): void {
	const all = sessions.get() ?? [];
	const at = all.findIndex((one) => one.id === session.id);

	sessions.set(at < 0 ? [session, ...all] : all.map((one, i) => (i === at ? session : one)));
}

export function forget(id: number): void {
	sessions.set((sessions.get() ?? []).filter((one) => one.id !== id));
}

export const findSession = (id: number): Session | undefined => sessions.get()?.find((one) => one.id === id);
