// The views that there are. To add one: a component here, and a line below; its address is #/NAME, or
// #/session/ID/NAME when it is about one session.
import type { ComponentType } from 'preact';
import type { Session } from '../api';
import { ProfileView } from './profile';
import { TargetsView } from './targets';

export interface ViewProps {
	query: URLSearchParams; // change it by setQuery() of route.ts
}

// session is as of the last answer; it is drawn anew about each second while the session runs.
export interface SessionViewProps extends ViewProps {
	session: Session;
}

export type View = { name: string; title: string } & (
	| { component: ComponentType<ViewProps>; ofSession?: false }
	| { component: ComponentType<SessionViewProps>; ofSession: true }
);

export const views: View[] = [
	{ name: 'targets', title: 'Targets', component: TargetsView },
	{ name: 'profile', title: 'Profile', component: ProfileView, ofSession: true },
];
