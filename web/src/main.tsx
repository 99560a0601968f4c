// Starts the page.
import { render } from 'preact';
import { startRouting } from './route';
import { Shell } from './shell';

startRouting();
render(<Shell />, document.getElementById('app')!);
