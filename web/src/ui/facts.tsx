// Names with their values, one a line.
import type { ComponentChildren } from 'preact';

export type Fact = [name: string, value: ComponentChildren];

export function Facts({ facts, mono }: { facts: Fact[]; mono?: boolean }) {
	return (
		<dl class={mono ? 'facts mono' : 'facts'}>
			{facts.map(([name, value]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>{value}</dd>
				</div>
			))}
		</dl>
	);
}
