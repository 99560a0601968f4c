// The views that there are. To add one: a component in a file of its own, and a line below; its address is #/NAME, or
// #/session/ID/NAME when it is about one session.
import type { ComponentType } from 'preact';
import type { Session } from '../api';
import { CompareView } from './compare';
import { LedgerView } from './ledger';
import { ProfileView } from './profile';
import { SessionsView } from './sessions';
import { SourceView } from './source';
import { StatusView } from './status';
import { TargetsView } from './targets';
import { TimeView } from './time';

export interface ViewProps {
	query: URLSearchParams; // change it by setQuery() of route.ts
}

// session is as of the last answer; it is drawn anew about each second while the session runs.
export interface SessionViewProps extends ViewProps {
	session: Session;
}

export type View = {
	name: string;
	title: string;
	letter?: string; // "g" and this letter go there; none: it is not among the tabs, as it needs something chosen
	search?: string; // what the search in the head looks for here; it writes "q" into the query
	keys?: [keys: string, what: string][]; // its own, for the help; several keys with blanks between
} & (
	| { component: ComponentType<ViewProps>; ofSession?: false }
	| { component: ComponentType<SessionViewProps>; ofSession: true }
);

const PROFILE_KEYS: [string, string][] = [
	['↑ ↓ ← →', 'from frame to frame'],
	['Enter', 'zoom to it, or open the row'],
	['0', 'show all again'],
	['+ −', 'nearer, farther'],
	['n N', 'next and previous match'],
	['m', 'what can be done with it'],
];

export const views: View[] = [
	{ name: 'targets', title: 'Targets', letter: 't', search: 'Search targets', component: TargetsView },
	{ name: 'sessions', title: 'Sessions', letter: 's', search: 'Search sessions', component: SessionsView },
	{ name: 'profile', title: 'Profile', letter: 'p', keys: PROFILE_KEYS, component: ProfileView, ofSession: true },
	{ name: 'time', title: 'Time', letter: 'i', component: TimeView, ofSession: true },
	{ name: 'source', title: 'Source', component: SourceView, ofSession: true },
	{ name: 'compare', title: 'Compare', letter: 'c', component: CompareView },
	{ name: 'ledger', title: 'Ledger', letter: 'l', component: LedgerView, ofSession: true },
	{ name: 'status', title: 'Status', letter: 'u', component: StatusView },
];
