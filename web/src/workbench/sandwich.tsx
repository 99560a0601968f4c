// One function: who calls it, above, and what it calls, below, over all places where it stands.
import { useMemo } from 'preact/hooks';
import type { Columns } from '../profile/columns';
import { keyModule, keyText } from '../profile/names';
import { callees, callers } from '../profile/sandwich';
import { counted } from '../ui/format';
import { Flame, type FlameProps } from './flame';
import { figures, type Unit } from './rows';

export interface SandwichProps {
	columns: Columns;
	func: string;
	unit: Unit;
	fillOf(name: number): number;
	match: Uint8Array | null;
	onMenu: FlameProps['onMenu'];
	onSearch(): void;
	choose: () => void;
}

export function Sandwich(props: SandwichProps) {
	const { columns: c, func, unit, fillOf } = props;
	const id = c.names.funcOfKey(func);
	const halves = useMemo(() => id < 0 ? null : { above: callers(c, id), below: callees(c, id) }, [c, id]);
	const paints = useMemo(() => halves && {
		above: (node: number) => fillOf(halves.above.name[node]),
		below: (node: number) => fillOf(halves.below.name[node]),
	}, [halves, fillOf]);

	if (!func || !halves || !paints)
		return (
			<p class="note">
				{func ? `${keyText(func)} is not in this profile, or not yet. ` : 'No function is chosen. '}
				<button type="button" onClick={props.choose}>Choose one from the table</button>
			</p>
		);
	const { above, below } = halves;
	const shared = { unit, match: props.match, place: '', onPlace: () => {}, onMenu: props.onMenu, onSearch: props.onSearch, small: true };

	return (
		<div class="sandwich">
			<p class="sandwich-head">
				<b>{keyText(func)}</b>
				<span class="muted">{keyModule(func)}</span>
				<span>Total {figures(below.total[0], c.total[0], unit)}</span>
				<span>Self {figures(selfOf(c, id), c.total[0], unit)}</span>
				<span class="muted">{counted(below.samples[0], 'sample')}</span>
				<button type="button" onClick={props.choose}>Another function</button>
			</p>
			<h2>Callers</h2>
			<Flame key={`a${func}`} {...shared} columns={above} fillOf={paints.above} flames label={`Callers of ${keyText(func)}`} />
			<h2>Callees</h2>
			<Flame key={`b${func}`} {...shared} columns={below} fillOf={paints.below} flames={false} label={`Callees of ${keyText(func)}`} />
		</div>
	);
}

function selfOf(c: Columns, func: number): number {
	let self = 0;

	for (let i = 0; i < c.count; i++)
		if (c.names.func[c.name[i]] === func)
			self += c.self[i];
	return self;
}
